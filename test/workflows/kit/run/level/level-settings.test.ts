import { describe, expect, it } from 'vitest'

import { defineLevel, type LevelSettings, nop, retryLimits } from '../../../../../workflows/kit/index.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const define = (settings: unknown) =>
  // Values that a JavaScript program may pass.
  defineLevel({ name: 'shop', target, queries: {}, plan: nop, settings: settings as LevelSettings })

describe('the settings of a controller', () => {
  it('keep given values and have defaults', () => {
    expect(define({ passes: 2, queue: 'slow-ones' }).settings).toEqual({ passes: 2, queue: 'slow-ones' })
    expect(retryLimits(undefined)).toEqual({ firstMs: 5, mostMs: 1_000_000, perSecond: 10, burst: 100 })
    expect(retryLimits({ retries: { firstMs: 200, perSecond: 0.5 } })).toEqual({
      firstMs: 200,
      mostMs: 1_000_000,
      perSecond: 0.5,
      burst: 100,
    })
  })

  it.each<[unknown, string]>([
    [{ passes: 0 }, '.passes: found 0; expected a whole number of at least 1 and at most 10000'],
    [{ passes: 1.5 }, '.passes: found 1.5; expected a whole number'],
    [{ passes: '2' }, '.passes: found "2"; expected a whole number'],
    [{ passes: null }, '.passes: found null; expected a whole number'],
    [{ pases: 2 }, ': unknown field pases; expected passes, or none'],
    [{ workers: 2 }, ': unknown field workers; expected one of passes, queue, retries'],
    [[], ': found []; expected an object with passes, queue, retries'],
    [{ queue: 'Slow' }, '.queue: found "Slow"; expected at most 63 lower-case letters'],
    [{ queue: 'a.b' }, '.queue: found "a.b"; expected at most 63 lower-case letters'],
    [{ queue: '' }, '.queue: found ""; expected at most 63 lower-case letters'],
    [{ queue: 7 }, '.queue: found 7; expected at most 63 lower-case letters'],
    [{ events: 'later' }, '.events: found "later"; expected "at once" or "along"'],
    [{ retries: 5 }, '.retries: found 5; expected an object with firstMs, mostMs, perSecond, burst'],
    [{ retries: { first: 5 } }, '.retries: unknown field first; expected one of firstMs, mostMs, perSecond, burst'],
    [{ retries: { firstMS: 5 } }, '.retries: unknown field firstMS; expected firstMs, or none'],
    [
      { retries: { firstMs: 0 } },
      '.retries.firstMs: found 0; expected a whole number of at least 1 and at most 86400000',
    ],
    [{ retries: { mostMs: 90_000_000 } }, '.retries.mostMs: found 90000000; expected a whole number'],
    [{ retries: { perSecond: 0 } }, '.retries.perSecond: found 0; expected a number of at least 0.01 and at most 1000'],
    [{ retries: { perSecond: NaN } }, '.retries.perSecond: found NaN; expected a number'],
    [
      { retries: { burst: 2000 } },
      '.retries.burst: found 2000; expected a whole number of at least 1 and at most 1000',
    ],
    [{ retries: { firstMs: 10, mostMs: 9 } }, '.retries.firstMs: found 10; expected at most mostMs, which is 9'],
    [
      { retries: { firstMs: 2_000_000 } },
      '.firstMs: found 2000000; expected at most mostMs, which is 1000000 by default',
    ],
  ])('reject %j', (settings, message) => {
    expect(() => define(settings)).toThrow(
      `controller shop: settings${message.startsWith('.firstMs') ? '.retries' : ''}${message}`,
    )
  })
})

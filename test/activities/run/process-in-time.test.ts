// Tests how many elements one call processes, on a clock that the test sets.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { describe, expect, it } from 'vitest'

import { processInTime } from '../../../activities/run/process-in-time.ts'

const NUMBERS = Array.from({ length: 350 }, (_, index) => index)

/** Works through the numbers, so long a part. */
async function course(partMs: number) {
  let ms = Date.parse('2030-01-01T00:00:00Z')
  const parts: number[] = []
  const work = (part: readonly number[]) => {
    ms += partMs
    parts.push(part.length)
    return Promise.resolve(part)
  }
  const { results, left } = await processInTime({ now: () => new Date(ms) }, NUMBERS, work)
  return { parts, done: results.flat(), left }
}

describe('the work of a call', () => {
  it('covers all elements while the parts are fast', async () => {
    expect(await course(100)).toEqual({ parts: [100, 100, 100, 50], done: NUMBERS, left: [] })
  })

  it('ends with the part that exceeds the time limit, and returns the other elements', async () => {
    expect(await course(5000)).toEqual({ parts: [100, 100], done: NUMBERS.slice(0, 200), left: NUMBERS.slice(200) })
  })

  it('covers at least one part, so that repeated calls finish', async () => {
    expect(await course(60_000)).toMatchObject({ parts: [100], left: NUMBERS.slice(100) })
  })

  it('is empty without elements', async () => {
    const work = () => Promise.reject(new Error('not expected'))
    expect(await processInTime({ now: () => new Date() }, [], work)).toEqual({ results: [], left: [] })
  })

  it('ends after the current part when the call is cancelled, because another attempt may already run', async () => {
    const controller = new AbortController()
    const done: number[] = []
    const work = (part: readonly number[]) => {
      done.push(...part)
      controller.abort(new Error('timed out'))
      return Promise.resolve()
    }
    const call = { cancellationSignal: controller.signal } as unknown as Context
    const ran = asyncLocalStorage.run(call, () => processInTime({ now: () => new Date() }, NUMBERS, work))
    await expect(ran).rejects.toThrow('timed out')
    expect(done).toEqual(NUMBERS.slice(0, 100))
  })
})

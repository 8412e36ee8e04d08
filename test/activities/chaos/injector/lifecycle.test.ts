// The life cycle of an injector. Source: seeds/chaos-controller.txt "Injector lifecycle", spec/chaos.md 4.5 (D7 to D9),
// Q14 to Q16.

import { describe, expect, it } from 'vitest'

import type { Lifecycle } from '../../../../activities/chaos/injector/lifecycle.ts'
import { born, failing, injection } from './born.ts'
import { settled } from './hand-clock.ts'

type Born = ReturnType<typeof born>

describe('an injector', () => {
  it('injects, becomes ready, and cleans up after a signal', async () => {
    const { life, done, clock, signal, counted } = born()
    await settled()
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected succeed', 'cleaned succeed'])
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'finalizer'])
    expect(clock.now()).toBe(1_000_000)
  })

  it('D8: cleans up once after a signal before the injection', async () => {
    const { life, done, signal } = born({ notBefore: 2_000_000 })
    await settled()
    signal()
    signal()
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D8: cleans up once after a signal before its start', async () => {
    const { life, done } = born({}, [injection('a')], true)
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D8: cleans up once after a signal during the injection, without becoming ready', async () => {
    const { life, done, signal } = born({}, [injection('slow', { injects: untilTold })])
    await settled()
    signal()
    expect(await life).toBe(0)
    expect(done).toEqual(['inject slow', 'release', 'clean slow', 'finalizer'])
  })

  it('waits for its start time and initial delay', async () => {
    const { life, done, clock, signal } = born({ notBefore: 1_005_000, initialDelayMs: 1000 })
    await clock.turn(5000)
    expect(done).toEqual([])
    await clock.turn(1000)
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    await life
  })

  it('ends at its deadline', async () => {
    const { life, done, clock } = born({ deadline: 1_060_000 })
    await clock.turn(59_999)
    expect(done).not.toContain('clean a')
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(done.slice(-2)).toEqual(['clean a', 'finalizer'])
  })

  it('X4: ends within a second, and stays ended, when its clock jumps past the deadline', async () => {
    const { life, done, clock } = born({ deadline: 4_600_000 })
    await clock.turn(10_000)
    clock.jump(7_200_000)
    await clock.turn(1000)
    expect(await life).toBe(0)
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'finalizer'])
  })

  it('X4: ends after the original time when its clock jumps back', async () => {
    const { life, done, clock } = born({ deadline: 1_060_000 })
    await clock.turn(10_000)
    clock.jump(-7_200_000)
    await clock.turn(49_999)
    expect(done).not.toContain('clean a')
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(done.slice(-2)).toEqual(['clean a', 'finalizer'])
  })

  it('X4: does not inject again when its clock jumps past the deadline in a dormant phase', async () => {
    const pulse = { activeMs: 1000, dormantMs: 500 }
    const { life, done, clock } = born({ deadline: 4_600_000, pulse })
    await settled()
    await clock.turn(1000)
    expect(done.slice(-1)).toEqual(['clean a'])
    clock.jump(7_200_000)
    // The pulse precedes the check of the deadline.
    await clock.turn(500)
    expect(await life).toBe(0)
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'clean a', 'finalizer'])
  })

  it('X4: injects nothing if the deadline has passed at its start', async () => {
    const { life, done } = born({ deadline: 999_999 })
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D9: stays without readiness when one injection fails, and cleans up both', async () => {
    const { life, done, signal, counted } = born({}, [injection('a', { injects: failing }), injection('b')])
    await settled()
    expect(done).toEqual(['inject a', 'inject b', 'release'])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected failed', 'injected succeed', 'cleaned succeed', 'cleaned succeed'])
    expect(done.slice(3)).toEqual(['clean a', 'clean b', 'finalizer'])
  })

  it('D7: retries a clean-up with growing delays, and succeeds', async () => {
    const { life, done, clock, signal } = born({}, [injection('a', { cleans: failingTimes(2) })])
    await settled()
    signal()
    await settled()
    await clock.turn(999)
    expect(cleans(done)).toBe(1)
    await clock.turn(1)
    await clock.turn(1999)
    expect(cleans(done)).toBe(2)
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(cleans(done)).toBe(3)
    expect(done.at(-1)).toBe('finalizer')
  })

  it('D7: fails after the third retry, cleans up the others, and keeps its finalizer', async () => {
    const { life, done, clock, signal, counted } = born({}, [
      injection('a', { cleans: failingTimes(4) }),
      injection('b'),
    ])
    await settled()
    signal()
    await settled()
    for (const pause of [1000, 2000, 4000]) await clock.turn(pause)
    expect(await life).toBe(1)
    expect(counted.slice(2)).toEqual(['cleaned failed', 'cleaned succeed'])
    expect(done.slice(4)).toEqual(['clean a', 'clean a', 'clean a', 'clean a', 'clean b'])
  })

  it('alternates injection and clean-up in pulses, and stays ready', async () => {
    const { life, done, clock, signal, counted } = born({ pulse: { activeMs: 1000, dormantMs: 500 } })
    await settled()
    await clock.turn(1000)
    expect(done.slice(3)).toEqual(['clean a'])
    await clock.turn(500)
    expect(done.slice(4)).toEqual(['inject a'])
    await clock.turn(1000)
    signal()
    expect(await life).toBe(0)
    expect(done.slice(5)).toEqual(['clean a', 'clean a', 'finalizer'])
    expect(done.filter((one) => one === 'ready')).toHaveLength(1)
    expect(counted).toEqual([
      ...['injected succeed', 'cleaned_for_reinjection succeed', 'reinjected succeed'],
      ...['cleaned_for_reinjection succeed', 'cleaned succeed'],
    ])
  })

  it('injects again after a restart of the target', async () => {
    const { life, done, signal, restart } = born()
    await settled()
    restart()
    await settled()
    expect(done.slice(3)).toEqual(['clean a', 'inject a'])
    restart()
    await settled()
    expect(done.slice(5)).toEqual(['clean a', 'inject a'])
    signal()
    await life
  })

  it('L6: retries a failed injection into a restarted target with growing pauses, after a clean-up', async () => {
    const a = injection('a', { injects: failingCalls(2, 3, 4, 5, 6, 7, 8) })
    const { life, done, clock, signal, restart, counted, failures } = born({}, [a, injection('b')])
    await settled()
    restart()
    await settled()
    expect(done.slice(4)).toEqual(['clean a', 'clean b', 'inject a', 'inject b'])
    for (const pause of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      await clock.turn(pause - 1)
      const before = done.length
      await clock.turn(1)
      expect(done.slice(before)).toEqual(['clean a', 'inject a'])
    }
    await clock.turn(60_000)
    expect(done).toHaveLength(22)
    expect(failures).toEqual(Array.from({ length: 7 }, () => 'not injected'))
    expect(counted.filter((one) => one === 'reinjected failed')).toHaveLength(7)
    expect(counted.at(-1)).toBe('reinjected succeed')
    signal()
    expect(await life).toBe(0)
  })

  it('L6: injects into a restarted target only after a complete clean-up', async () => {
    const { life, done, clock, signal, restart, counted, failures } = born({}, [
      injection('a', { cleans: failingTimes(1) }),
    ])
    await settled()
    restart()
    await settled()
    expect(done.slice(3)).toEqual(['clean a'])
    await clock.turn(1000)
    expect(done.slice(4)).toEqual(['clean a', 'inject a'])
    expect(failures).toEqual(['the clean-up failed; retrying'])
    signal()
    await life
    expect(counted.slice(1, 3)).toEqual(['cleaned_for_reinjection failed', 'cleaned_for_reinjection succeed'])
  })

  it.each<[string, Partial<Lifecycle>, (parts: Born) => void, readonly string[]]>([
    ['the next restart', {}, ({ restart }) => restart(), ['clean a', 'inject a']],
    ['a dormant phase', { pulse: { activeMs: 500, dormantMs: 60_000 } }, () => undefined, ['clean a']],
    ['the deadline', { deadline: 1_000_500 }, () => undefined, ['clean a', 'finalizer']],
    ['a signal', {}, ({ signal }) => signal(), ['clean a', 'finalizer']],
  ])('L6: %s ends the retries', async (_, parts, act, then) => {
    const all = born(parts, [injection('a', { injects: failingCalls(2) })])
    await settled()
    all.restart()
    await settled()
    const before = all.done.length
    act(all)
    await all.clock.turn(500)
    await all.clock.turn(10_000)
    expect(all.done.slice(before)).toEqual(then)
    all.signal()
    expect(await all.life).toBe(0)
  })

  it('stays injected when its target cannot be watched, and says so', async () => {
    const { life, done, failures, signal } = born({}, [injection('a')], false, { targetRestart: failing })
    await settled()
    expect(done).toEqual(['inject a', 'ready', 'release'])
    expect(failures).toEqual(['the watch of the target ended; restarted containers will not be injected again'])
    signal()
    expect(await life).toBe(0)
  })

  it('cleans up and fails when it cannot report that it is ready', async () => {
    const { life, done, failures } = born({}, [injection('a')], false, { becomeReady: failing })
    expect(await life).toBe(1)
    expect(done).toEqual(['inject a', 'clean a', 'finalizer'])
    expect(failures).toEqual(['ending after a failure'])
  })

  it('does not inject into a restarted target in a dormant phase', async () => {
    const { life, done, clock, signal, restart } = born({ pulse: { activeMs: 1000, dormantMs: 5000 } })
    await settled()
    await clock.turn(1000)
    restart()
    await settled()
    expect(done.slice(3).filter((one) => one === 'inject a')).toEqual([])
    await clock.turn(5000)
    expect(done.at(-1)).toBe('inject a')
    signal()
    await life
  })

  it('does not repeat a one-time injection', async () => {
    const { life, done, clock, signal, restart } = born({
      isRepeatable: false,
      pulse: { activeMs: 1000, dormantMs: 500 },
    })
    await settled()
    restart()
    await clock.turn(5000)
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    await life
  })

  it('succeeds even if the finalizer cannot be removed', async () => {
    const { life, signal, failures } = born({}, [injection('a')], false, { removeFinalizer: failing })
    await settled()
    signal()
    expect(await life).toBe(0)
    expect(failures).toEqual(['the finalizer of this pod could not be removed'])
  })
})

async function untilTold(until: AbortSignal): Promise<void> {
  await new Promise<void>((_, reject) => {
    until.addEventListener('abort', () => reject(new Error('told to end')), { once: true })
  })
}

function failingTimes(times: number): () => Promise<void> {
  return failingCalls(...Array.from({ length: times }, (_, index) => index + 1))
}

/** Fails at these calls, counted from 1. */
function failingCalls(...calls: readonly number[]): () => Promise<void> {
  let call = 0
  return async () => {
    call += 1
    if (calls.includes(call)) await failing()
  }
}

function cleans(done: readonly string[]): number {
  return done.filter((one) => one === 'clean a').length
}

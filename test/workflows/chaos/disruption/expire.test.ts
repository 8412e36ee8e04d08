// Passes over a Disruption whose time is over: no chaos pod disturbs for longer than it was to, or it is told.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { ChaosPod } from '../../../../workflows/chaos/disruption/observed.ts'
import { at, chaosPod, node, pass, pod, reasonsOf, SPEC } from './passes.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: at(1), toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a pass over a Disruption whose time is over', () => {
  const status = {
    ...{ specHash: 'x', originalSpec: SPEC, targets: ['a'], runCount: 1, injectionStatus: 'Injected' },
    targetInjections: { a: { 'network-disruption': { injectionStatus: 'Injected', injectorPodName: 'chaos-slow-a' } } },
  }
  const [targetPods, targetNodes] = [[pod('a')], [node('n1')]]
  const over = async (seconds: number, is: Partial<ChaosPod>) => {
    vi.setSystemTime(at(seconds))
    return await pass({ status, state: { chaosPods: [chaosPod('a', is)], targetPods, targetNodes } })
  }

  it('leaves chaos pods the time to end by themselves, and those alone that have', async () => {
    const running = await over(601, { isReady: true })
    expect([running.written, running.outcome.laterMs]).toEqual([[], 14_000])
    const completed = await over(700, { phase: 'Succeeded', hasCompleted: true, injector: 'completed' })
    expect([completed.written, completed.outcome.laterMs]).toEqual([[], undefined])
  })

  it('ends those that do not, and is stuck when they are left all the same', async () => {
    const late = await over(615, { isReady: true })
    expect(late.written).toEqual(['remove Pod chaos-slow-a'])
    expect(late.outcome.laterMs).toBe(10_000)
    const overdue = await over(600 + 15 * 60, { isDeleting: true })
    expect(overdue.status).toMatchObject({ isStuckOnRemoval: true })
    expect(overdue.events).toContainEqual(
      expect.objectContaining({
        reason: 'StuckOnRemoval',
        message: expect.stringContaining('15 min after its end: chaos-engineering/chaos-slow-a') as string,
      }),
    )
  })

  it('is stuck on those that have failed, which may have left something', async () => {
    const failed = await over(601, { phase: 'Failed', injector: 'failed' })
    expect(failed.written).toEqual(['remove Pod chaos-slow-a'])
    const stuck = await over(602, { phase: 'Failed', injector: 'failed', isDeleting: true })
    expect(stuck.written).toEqual([])
    expect(stuck.status).toMatchObject({ isStuckOnRemoval: true, injectionStatus: 'PreviouslyInjected' })
    expect(reasonsOf(stuck.events)).toEqual(expect.arrayContaining(['StuckOnRemoval', 'DurationOver']))
  })
})

// Passes over an expired Disruption: no chaos pod disturbs longer than requested without a report. The Disruption (`SPEC`) has expired at `at(600)`: it was
// created at `at(0)`, and its duration is 10 min. The controller expects chaos pods to end by `at(615)`.

import { describe, expect, it, vi } from 'vitest'

import type { ChaosPod } from '../../../../workflows/chaos/disruption/observed.ts'
import { at, chaosPod, node, pass, pod, reasonsOf, SPEC, useTime } from './passes.ts'

useTime()

describe('a pass over an expired Disruption', () => {
  const status = {
    specHash: 'x',
    originalSpec: SPEC,
    targets: ['a'],
    runCount: 1,
    injectionStatus: 'Injected',
    targetInjections: { a: { 'network-disruption': { injectionStatus: 'Injected', injectorPodName: 'chaos-slow-a' } } },
  }
  const [targetPods, targetNodes] = [[pod('a')], [node('n1')]]
  /** A pass at this time, with one chaos pod. */
  const passAt = async (seconds: number, podFields: Partial<ChaosPod>) => {
    vi.setSystemTime(at(seconds))
    return await pass({ status, state: { chaosPods: [chaosPod('a', podFields)], targetPods, targetNodes } })
  }

  it('gives chaos pods time to end, and leaves completed ones alone', async () => {
    const running = await passAt(601, { isReady: true })
    expect([running.written, running.outcome.laterMs]).toEqual([[], 14_000])
    const completed = await passAt(700, { phase: 'Succeeded', hasCompleted: true, injector: 'completed' })
    expect([completed.written, completed.outcome.laterMs]).toEqual([[], undefined])
  })

  it("E2: has expired as soon as the latest clock says so, and reports that Temporal's clock is behind", async () => {
    vi.setSystemTime(at(60))
    const state = { chaosPods: [chaosPod('a', { isReady: true })], targetPods, targetNodes }
    const early = await pass({ status, state, latest: at(7200) })
    expect(early.written).toEqual(['remove Pod chaos-slow-a'])
    expect(early.status).toMatchObject({ injectionStatus: 'PreviouslyInjected' })
    expect(early.status['isStuckOnRemoval']).toBeUndefined()
    const event = {
      reason: 'DurationOver',
      message: expect.stringContaining("another clock (Temporal's clock is behind") as string,
    }
    expect(early.events).toContainEqual(expect.objectContaining(event))
    // The expiry has been reported when Temporal's clock reaches it.
    vi.setSystemTime(at(601))
    const late = await pass({ status: { ...status, ...early.status }, state: { ...state, chaosPods: [] } })
    expect(reasonsOf(late.events)).not.toContain('DurationOver')
  })

  it('E2: creates no missing chaos pod, unlike a pass before the expiry', async () => {
    vi.setSystemTime(at(60))
    const notInjected = { ...status, injectionStatus: 'NotInjected', targetInjections: {} }
    const state = { pods: targetPods, targetPods, targetNodes }
    expect((await pass({ status: notInjected, state })).written).toEqual([expect.stringMatching(/^create Pod chaos-/)])
    expect((await pass({ status: notInjected, state, latest: at(7200) })).written).toEqual([])
  })

  it('deletes chaos pods that do not end, and is stuck when they remain', async () => {
    const late = await passAt(615, { isReady: true })
    expect(late.written).toEqual(['remove Pod chaos-slow-a'])
    expect(late.outcome.laterMs).toBe(10_000)
    const overdue = await passAt(600 + 15 * 60, { isDeleting: true })
    expect(overdue.status).toMatchObject({ isStuckOnRemoval: true })
    expect(overdue.events).toContainEqual(
      expect.objectContaining({
        reason: 'StuckOnRemoval',
        message: expect.stringContaining('15 min after the end: chaos-engineering/chaos-slow-a') as string,
      }),
    )
  })

  it('is stuck on failed chaos pods, which may have left changes behind', async () => {
    const failed = await passAt(601, { phase: 'Failed', injector: 'failed' })
    expect(failed.written).toEqual(['remove Pod chaos-slow-a'])
    const stuck = await passAt(602, { phase: 'Failed', injector: 'failed', isDeleting: true })
    expect(stuck.written).toEqual([])
    expect(stuck.status).toMatchObject({ isStuckOnRemoval: true, injectionStatus: 'PreviouslyInjected' })
    expect(reasonsOf(stuck.events)).toEqual(expect.arrayContaining(['StuckOnRemoval', 'DurationOver']))
  })
})

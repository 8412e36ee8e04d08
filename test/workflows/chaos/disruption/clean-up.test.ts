// Passes over a Disruption that is being deleted, and over a deleted one with chaos pods, without servers.

import { describe, expect, it, vi } from 'vitest'

import type { DisruptionState } from '../../../../workflows/chaos/disruption/pass.ts'
import { at, chaosPod, node, pass, pod, PROMPT, reasonsOf, SPEC, UNHELD, useTime } from './passes.ts'

useTime()

describe('a pass over a deleted Disruption with chaos pods', () => {
  it('deletes the chaos pods, and waits for those that clean up', async () => {
    const { written, ended, outcome, events } = await pass({
      metadata: UNHELD,
      state: { chaosPods: [chaosPod('a', { isReady: true }), chaosPod('b', { isDeleting: true, phase: 'Succeeded' })] },
    })
    expect(written).toEqual([
      'remove Pod chaos-slow-a',
      'release Pod chaos-slow-b finalizer.chaos.datadoghq.com/chaos-pod',
    ])
    expect(events).toMatchObject(
      ['a', 'b'].map((target) => ({ reason: 'Orphaned', about: `Pod chaos-slow-${target}` })),
    )
    expect([ended, outcome.againMs]).toEqual([undefined, 10_000])
  })

  it('releases chaos pods of deleted targets, and reports those that cannot clean up', async () => {
    const { written, events } = await pass({
      metadata: UNHELD,
      state: {
        chaosPods: [
          chaosPod('a', { isDeleting: true }),
          chaosPod('b', { isDeleting: true, phase: 'Failed', injector: 'failed' }),
        ],
        targetPods: [pod('b')],
        targetNodes: [node('n1')],
      },
    })
    expect(written).toEqual(['release Pod chaos-slow-a finalizer.chaos.datadoghq.com/chaos-pod'])
    expect(events).toContainEqual(expect.objectContaining({ reason: 'StuckOnRemoval', about: 'Pod chaos-slow-b' }))
  })

  it('is done when no chaos pod is left', async () => {
    const { written, ended } = await pass({ metadata: UNHELD })
    expect([written, ended]).toEqual([[], 'Deleted'])
  })
})

describe('a pass over a Disruption that is being deleted', () => {
  const deleted = { deletionTimestamp: '2026-01-02T03:00:01Z' }
  const status = { specHash: 'x', originalSpec: SPEC, injectionStatus: 'Injected', targets: ['a'] }

  const ending = async (state: Partial<DisruptionState>) =>
    await pass({ metadata: deleted, status, settings: PROMPT, state })
  const going = { isDeleting: true } as const
  const failed = { ...going, phase: 'Failed', injector: 'failed' } as const
  const there = { targetPods: [pod('a')], targetNodes: [node('n1')] }

  it('deletes the chaos pods, and waits for those that clean up', async () => {
    const {
      written,
      ended,
      outcome,
      status: said,
    } = await ending({ ...there, chaosPods: [chaosPod('a', { isReady: true })] })
    expect(written).toEqual(['remove Pod chaos-slow-a'])
    expect(said).toMatchObject({ injectionStatus: 'PreviouslyInjected' })
    expect([ended, outcome.againMs]).toEqual([undefined, 10_000])
  })

  it('waits while one chaos pod exists, also one of another owner', async () => {
    const { ended, outcome } = await ending({ labelledChaosPods: [chaosPod('b')] })
    expect([ended, outcome.againMs]).toEqual([undefined, 10_000])
  })

  it('is stuck when a chaos pod cannot clean up, and reports the next steps', async () => {
    const { ended, events, status: said } = await ending({ ...there, chaosPods: [chaosPod('a', failed)] })
    expect(ended).toBeUndefined()
    expect(said).toMatchObject({
      isStuckOnRemoval: true,
      targetInjections: { a: { 'network-disruption': { injectionStatus: 'IsStuckOnRemoval' } } },
    })
    expect(events).toMatchObject([
      { reason: 'StuckOnRemoval', message: expect.stringContaining('kubectl -n chaos-engineering') as string },
    ])
  })

  it.each([
    ['gone', []],
    ['not ready', [node('n1', false)]],
  ])('holds nothing on account of a node that is %s', async (_what, targetNodes) => {
    const { written } = await ending({ ...there, targetNodes, chaosPods: [chaosPod('a', going)] })
    expect(written).toEqual(['release Pod chaos-slow-a finalizer.chaos.datadoghq.com/chaos-pod'])
  })

  it('is stuck when the clean-up takes too long', async () => {
    vi.setSystemTime(at(1 + 15 * 60))
    const { status: said, events } = await ending({ ...there, chaosPods: [chaosPod('a', going)] })
    expect(said).toMatchObject({ isStuckOnRemoval: true })
    expect(reasonsOf(events)).toEqual(['StuckOnRemoval'])
  })

  it("releases the Disruption when nothing is left, after the operators' delay", async () => {
    const first = await pass({ metadata: deleted, status: { ...status, isStuckOnRemoval: true } })
    expect(first.status).toMatchObject({
      cleanedAt: '2026-01-02T03:00:01Z',
      isStuckOnRemoval: false,
      message: 'everything is undone; the object is released at 2026-01-02T03:00:21Z (finalizerDeletionDelay)',
    })
    expect([first.ended, first.outcome.againMs]).toEqual([undefined, 20_000])
    expect(reasonsOf(first.events)).toEqual(['Cleaned'])
    vi.setSystemTime(at(21))
    const last = await pass({ metadata: deleted, status: { ...status, cleanedAt: '2026-01-02T03:00:01Z' } })
    expect([last.ended, last.finalizer]).toEqual(['Deleted', 'taken off'])
    expect(reasonsOf(last.events)).toEqual(['Finished'])
  })
})

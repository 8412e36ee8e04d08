// Passes over a Disruption that chaos-controller has begun.

import { describe, expect, it } from 'vitest'

import { at, chaosPod, CREATED, node, pass, pod, reasonsOf, useTime } from './passes.ts'

useTime()

describe('a pass over a Disruption that chaos-controller has begun', () => {
  // The current format of chaos-controller's status: no list of targets, no spec.
  const status = {
    injectionStatus: 'Injected',
    selectedTargetsCount: 1,
    desiredTargetsCount: 1,
    runCount: 1,
    targetInjections: {
      'web-1': {
        'network-disruption': { injectorPodName: 'chaos-slow-x7k2p', injectionStatus: 'Injected', since: CREATED },
      },
    },
  }
  const metadata = { name: 'chaos-slow-x7k2p', namespace: 'chaos-engineering', uid: 'u', resourceVersion: '7' }
  const theirs = chaosPod('web-1', { metadata, isReady: true })
  const there = { pods: [pod('web-1'), pod('web-2')], targetPods: [pod('web-1')], targetNodes: [node('n1')] }

  it('adopts its chaos pods and changes nothing else', async () => {
    const {
      written,
      events,
      status: said,
      outcome,
    } = await pass({ status, state: { ...there, labelledChaosPods: [theirs] } })
    // Only a real API server shows the owner of an object: test/e2e/disruption-workers.test.ts.
    expect(written).toEqual([])
    expect([outcome.againMs, reasonsOf(events)]).toEqual([0, ['TakenOver']])
    expect(said).toEqual({ targets: ['web-1'] })
  })

  it('continues the injection, and injects nothing again', async () => {
    const taken = { ...status, targets: ['web-1'] }
    const both = { chaosPods: [theirs], labelledChaosPods: [theirs] }
    const { written, status: said } = await pass({ status: taken, state: { ...there, ...both } })
    expect(written).toEqual([])
    expect(said).toMatchObject({ originalSpec: { duration: '10m0s' }, specHash: expect.any(String) as string })
  })

  it('records no spec and begins nothing while one chaos pod is not adopted', async () => {
    const changed = { code: 'Changed', message: 'changed', retryable: true }
    const state = { ...there, labelledChaosPods: [theirs] }
    const { written, status: said } = await pass({ status, state, fails: { apply: changed } })
    expect(written).toEqual([])
    expect(said).not.toHaveProperty('specHash')
  })

  it('adopts its chaos pods during a deletion as well, and then deletes them', async () => {
    const gone = { deletionTimestamp: at(0).toISOString() }
    const first = await pass({ status, metadata: gone, state: { ...there, labelledChaosPods: [theirs] } })
    expect([first.written, first.ended, reasonsOf(first.events)]).toEqual([[], undefined, ['TakenOver']])
    const both = { chaosPods: [theirs], labelledChaosPods: [theirs] }
    const second = await pass({ status, metadata: gone, state: { ...there, ...both } })
    expect(second.written).toEqual(['remove Pod chaos-slow-x7k2p'])
  })
})

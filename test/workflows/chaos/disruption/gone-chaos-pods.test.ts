// Passes over a Disruption whose chaos pods fail, end, disappear, or whose targets move.

import { describe, expect, it } from 'vitest'

import type { ChaosPod } from '../../../../workflows/chaos/disruption/observed.ts'
import { chaosPod, node, pass, pod, SPEC, there, useTime } from './passes.ts'

useTime()

describe('a pass over a Disruption', () => {
  it('starts another run for a deleted chaos pod after the injection', async () => {
    const state = there('web-1')
    const first = await pass({ state })
    const injected = await pass({
      state: { ...state, chaosPods: [chaosPod('web-1', { isReady: true })] },
      status: first.after,
    })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected', injectedTargetsCount: 1 })
    const gone = await pass({ state, status: injected.after })
    expect(gone.written).toHaveLength(1)
    expect(gone.written).not.toEqual(first.written)
    expect(gone.status).toMatchObject({ runCount: 2, injectionStatus: 'PausedInjected' })
    const limited = await pass({
      spec: { ...SPEC, maxRuns: 1 },
      state,
      status: { ...injected.next.target.status, originalSpec: { ...SPEC, maxRuns: 1 } },
    })
    expect(limited.written).toEqual([])
  })

  it.each([
    ['follows its selectors', {}],
    ['is static', { staticTargeting: true }],
  ])('replaces the chaos pod of a target that was recreated on another node, where it %s', async (_, more) => {
    const spec = { ...SPEC, ...more }
    const on = (name: string) => {
      const targets = [pod('web-0', { node: name })]
      return { pods: targets, candidatePods: targets, targetPods: targets, targetNodes: [node(name)] }
    }
    const first = await pass({ spec, state: on('n1') })
    const name = first.status['targetInjections'] as Record<string, Record<string, { injectorPodName: string }>>
    const former = name['web-0']?.['network-disruption']?.injectorPodName ?? ''
    const own = (is: Partial<ChaosPod>) =>
      chaosPod('web-0', {
        node: 'n1',
        isReady: true,
        ...is,
        metadata: { name: former, namespace: 'chaos-engineering', uid: 'u-1', resourceVersion: '1' },
      })
    const injected = await pass({
      spec,
      state: { ...on('n1'), chaosPods: [own({})] },
      status: first.after,
    })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected' })
    const status = injected.after
    const moved = await pass({ spec, state: { ...on('n2'), chaosPods: [own({})] }, status })
    expect(moved.written).toEqual([`remove Pod ${former}`, expect.stringMatching(/^create Pod chaos-slow-/)])
    expect(moved.status).toMatchObject({ runCount: 2 })
    const planned = moved.next.target.status?.targetInjections?.['web-0']?.['network-disruption']
    expect(planned?.injectorPodName).not.toBe(former)
    expect(moved.written[1]).toBe(`create Pod ${planned?.injectorPodName ?? ''}`)
    expect(planned).not.toHaveProperty('since')
    // The previous chaos pod is deleted and fails, but nothing of it can be left.
    const going = own({ isDeleting: true, isReady: false, phase: 'Failed', injector: 'failed' })
    const fresh = chaosPod('web-0', {
      node: 'n2',
      isReady: true,
      metadata: {
        namespace: 'chaos-engineering',
        uid: 'u-2',
        resourceVersion: '1',
        name: planned?.injectorPodName ?? '',
      },
    })
    const after = moved.after
    const again = await pass({ spec, state: { ...on('n2'), chaosPods: [going, fresh] }, status: after })
    expect(again.written).toEqual([`release Pod ${former} finalizer.chaos.datadoghq.com/chaos-pod`])
    expect(again.status).toMatchObject({ injectionStatus: 'Injected' })
    expect(again.next.target.status).not.toHaveProperty('isStuckOnRemoval', true)
    expect(again.next.target.status).not.toHaveProperty('ignoredTargets')
  })

  it('keeps the chaos pod of a one-time kind on the previous node of its target', async () => {
    const spec = { ...SPEC, network: undefined, podReplacement: {} }
    const targets = [pod('web-0', { node: 'n2' })]
    const replaced = chaosPod('web-0', { node: 'n1', does: 'pod-replacement', isReady: true })
    const status = {
      specHash: 'x',
      originalSpec: spec,
      targets: ['web-0'],
      runCount: 1,
      injectionStatus: 'Injected',
      targetInjections: {
        'web-0': { 'pod-replacement': { injectionStatus: 'Injected', since: '2026-01-02T03:00:01Z' } },
      },
    }
    const { written } = await pass({ spec, status, state: { pods: targets, chaosPods: [replaced] } })
    expect(written).toEqual([])
  })

  it('B15: does not fail a static node again after its chaos pod has disappeared', async () => {
    const nodeSpec = { selector: { app: 'web' }, count: 1, duration: '10m', level: 'node', nodeFailure: {} }
    const spec = { ...nodeSpec, staticTargeting: true }
    const state = { candidateNodes: [node('n1')], nodes: [node('n1')], targetNodes: [node('n1')] }
    const first = await pass({ spec, state })
    expect(first.written).toEqual([expect.stringMatching(/^create Pod chaos-slow-/)])
    const unseen = await pass({ spec, state, status: first.after })
    expect(unseen.written).toEqual(first.written)
    const failing = { ...state, chaosPods: [chaosPod('n1', { does: 'node-failure', isReady: true })] }
    const injected = await pass({ spec, state: failing, status: first.after })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected' })
    const gone = await pass({ spec, state, status: injected.after })
    expect([gone.written, gone.status]).toMatchObject([[], { injectionStatus: 'PausedInjected' }])
    const dynamic = { ...injected.next.target.status, originalSpec: nodeSpec }
    expect((await pass({ spec: nodeSpec, state, status: dynamic })).written).toHaveLength(1)
  })

  it('reports failed chaos pods', async () => {
    const chaosPods = [chaosPod('a', { phase: 'Failed', injector: 'failed' }), chaosPod('b')]
    const { events, writes } = await pass({
      status: { specHash: 'x', targets: ['a', 'b'] },
      state: { pods: [pod('a'), pod('b')], chaosPods },
    })
    expect(events).toContainEqual(expect.objectContaining({ reason: 'ChaosPodWarningState', type: 'Warning' }))
    expect(writes.filter(({ verb }) => verb === 'release')).toEqual([])
  })

  it('reports the reason of a running injector that has not injected, unless it is simulated or being deleted', async () => {
    const message = 'not injected: network-disruption of app: Unsupported: no iptables'
    const waiting = { isReady: false, message }
    const chaosPods = [
      chaosPod('a', waiting),
      chaosPod('b', { ...waiting, isDeleting: true }),
      chaosPod('c', { isReady: false }),
    ]
    const { events } = await pass({
      status: { specHash: 'x', targets: ['a', 'b', 'c'] },
      state: { pods: [pod('a'), pod('b'), pod('c')], chaosPods },
    })
    expect(events.filter(({ reason }) => reason === 'NotInjected')).toMatchObject([
      {
        type: 'Warning',
        message: `chaos pod chaos-engineering/${chaosPods[0]!.metadata.name} has not injected network-disruption into a: network-disruption of app: Unsupported: no iptables`,
      },
    ])
  })

  it('releases chaos pods that a user has deleted, except those that still clean up', async () => {
    const going = { isDeleting: true }
    const { writes } = await pass({
      status: { specHash: 'x', targets: ['a', 'b', 'c'] },
      state: {
        pods: [pod('a'), pod('b'), pod('c')],
        targetPods: [pod('a'), pod('c')],
        targetNodes: [node('n1')],
        chaosPods: [
          chaosPod('a', { ...going, phase: 'Succeeded' }),
          chaosPod('b', { ...going, phase: 'Failed', injector: 'failed' }),
          chaosPod('c', going),
        ],
      },
    })
    expect(writes.filter(({ verb }) => verb === 'release').map(({ object }) => object.metadata.name)).toEqual([
      ...['chaos-slow-a', 'chaos-slow-b'],
    ])
  })
})

describe('a chaos pod that this pass has released and that is gone', () => {
  const ended = { isDeleting: true, phase: 'Succeeded', hasCompleted: true } as const
  const known = (since?: string) => ({
    'network-disruption': { injectionStatus: 'Injected', injectorPodName: 'chaos-slow-a', ...(since && { since }) },
  })

  it('no longer counts, because no event reports it to the next pass', async () => {
    const { status } = await pass({
      released: 'gone',
      status: { specHash: 'x', targets: ['b'], injectionStatus: 'PartiallyInjected', runCount: 1 },
      state: { pods: [pod('a'), pod('b')], chaosPods: [chaosPod('a', ended), chaosPod('b', { isReady: true })] },
    })
    expect(status).toMatchObject({ injectionStatus: 'Injected', injectedTargetsCount: 1 })
  })

  it('is created again at once if its target is still chosen', async () => {
    const { written } = await pass({
      released: 'gone',
      status: {
        specHash: 'x',
        targets: ['a'],
        injectionStatus: 'Injected',
        runCount: 1,
        targetInjections: { a: known('2026-01-02T03:00:01Z') },
      },
      state: { pods: [pod('a')], targetPods: [pod('a')], chaosPods: [chaosPod('a', ended)] },
    })
    expect(written).toEqual([
      'release Pod chaos-slow-a finalizer.chaos.datadoghq.com/chaos-pod',
      expect.stringMatching(/^create Pod chaos-slow-/),
    ])
  })
})

// Passes over a Disruption without servers: the writes of each step, their order, and a repeated pass.

import { describe, expect, it, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { CHAOS_POD_FINALIZER } from '../../../../workflows/chaos/contract.ts'
import type { ChaosPod } from '../../../../workflows/chaos/disruption/observed.ts'
import type { DisruptionState } from '../../../../workflows/chaos/disruption/pass.ts'
import { at, chaosPod, collecting, node, pass, pod, reasonsOf, SPEC, useTime } from './passes.ts'

useTime()

describe('a pass over a new Disruption', () => {
  it('records the spec, chooses targets, records them, and creates their chaos pods', async () => {
    const { writes, status, events, outcome } = await pass({
      state: { pods: [pod('web-1'), pod('web-2')], targetPods: [pod('web-1'), pod('web-2')] },
    })
    expect(writes).toMatchObject([{ verb: 'create', object: { kind: 'Pod' } }])
    const [{ object }] = writes as unknown as [{ object: { metadata: { name: string; finalizers: string[] } } }]
    const [target] = (status['targets'] ?? []) as string[]
    expect(['web-1', 'web-2']).toContain(target)
    expect(object.metadata.finalizers).toEqual([CHAOS_POD_FINALIZER])
    expect(status).toMatchObject({
      injectionStatus: 'NotInjected',
      runCount: 1,
      selectedTargetsCount: 1,
      ignoredTargetsCount: 1,
      originalSpec: { ...SPEC, duration: '10m0s' },
      targetInjections: {
        [target!]: { 'network-disruption': { injectionStatus: 'NotInjected', injectorPodName: object.metadata.name } },
      },
    })
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'Created', message: 'network-disruption of pods, count 1, for 10m0s' },
      { reason: 'Disrupted', about: `Pod ${target}` },
      { reason: 'ChaosPodCreated' },
    ])
    expect(outcome.laterMs).toBe(599_000)
  })

  it('adds the recorded spec to its Event, unless it is too long', async () => {
    const told = async (spec: object) => {
      const { events, status } = await pass({ spec, metadata: { annotations: { UserInfo: '{"username":"ann"}' } } })
      const { annotations } = events.find(({ reason }) => reason === 'Created') ?? {}
      return { annotations, kept: status['originalSpec'] }
    }
    const { annotations, kept } = await told(SPEC)
    expect(Object.keys(annotations ?? {})).toEqual(['disruption'])
    expect(JSON.parse(annotations?.['disruption'] ?? '')).toEqual({
      apiVersion: 'chaos.datadoghq.com/v1beta1',
      kind: 'Disruption',
      metadata: { name: 'slow', namespace: 'shop', uid: 'uid-slow' },
      spec: kept,
    })
    const hosts = Array.from({ length: 1000 }, (_, n) => ({ host: `host-${n}.example.com` }))
    const long = await told({ ...SPEC, network: { drop: 30, hosts } })
    expect(long.annotations).toEqual({
      'pawl.dev/left-out': expect.stringMatching(/^disruption \(3\d{4} bytes\)$/) as string,
    })
  })

  it('creates nothing if the status write fails, and creates the same chaos pods when it is repeated', async () => {
    const state = { pods: [pod('web-1')], targetPods: [pod('web-1')] }
    const first = await pass({ state })
    const again = await pass({ state, status: first.next.target.status as object })
    expect(again.written).toEqual(first.written)
    expect(again.status).toEqual({})
    const found = await pass({
      state: { ...state, chaosPods: [chaosPod('web-1')] },
      status: first.next.target.status as object,
    })
    expect(found.written).toEqual([])
  })

  it('starts another run for a deleted chaos pod after the injection', async () => {
    const state = { pods: [pod('web-1')], targetPods: [pod('web-1')] }
    const first = await pass({ state })
    const injected = await pass({
      state: { ...state, chaosPods: [chaosPod('web-1', { isReady: true })] },
      status: first.next.target.status as object,
    })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected', injectedTargetsCount: 1 })
    const gone = await pass({ state, status: injected.next.target.status as object })
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
      status: first.next.target.status as object,
    })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected' })
    const status = injected.next.target.status as object
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
    const after = moved.next.target.status as object
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
    const unseen = await pass({ spec, state, status: first.next.target.status as object })
    expect(unseen.written).toEqual(first.written)
    const failing = { ...state, chaosPods: [chaosPod('n1', { does: 'node-failure', isReady: true })] }
    const injected = await pass({ spec, state: failing, status: first.next.target.status as object })
    expect(injected.status).toMatchObject({ injectionStatus: 'Injected' })
    const gone = await pass({ spec, state, status: injected.next.target.status as object })
    expect([gone.written, gone.status]).toMatchObject([[], { injectionStatus: 'PausedInjected' }])
    const dynamic = { ...injected.next.target.status, originalSpec: nodeSpec }
    expect((await pass({ spec: nodeSpec, state, status: dynamic })).written).toHaveLength(1)
  })

  it('waits for its trigger', async () => {
    const triggers = { createPods: { offset: '30s' } }
    const { written, outcome, status } = await pass({ spec: { ...SPEC, triggers }, state: { pods: [pod('web-1')] } })
    expect(written).toEqual([])
    expect(outcome.againMs).toBe(29_000)
    expect(status).toMatchObject({ injectionStatus: 'NotInjected' })
  })

  it('creates no chaos pod after its end, even if the clock has jumped', async () => {
    vi.setSystemTime(at(601))
    const { written, status, events } = await pass({ state: { pods: [pod('web-1')] } })
    expect(written).toEqual([])
    expect(status).toMatchObject({ injectionStatus: 'PreviouslyNotInjected' })
    expect(reasonsOf(events)).toEqual(['Created', 'DurationOver'])
  })

  it("is deleted after the operators' delay", async () => {
    vi.setSystemTime(at(601))
    const early = await pass({ settings: collecting(60_000) })
    expect([early.written, early.outcome.laterMs]).toEqual([[], 59_000])
    vi.setSystemTime(at(660))
    const late = await pass({ settings: collecting(60_000) })
    expect(late.written).toEqual(['remove Disruption slow'])
    expect(reasonsOf(late.events)).toEqual(['Created', 'GCOver'])
  })

  it('rejects an invalid spec without a webhook', async () => {
    const { written, events } = await pass({ spec: { ...SPEC, network: {} } })
    expect(written).toEqual([])
    expect(events).toMatchObject([{ reason: 'Created' }, { type: 'Warning', reason: 'InvalidSpec' }])
    const selecting = await pass({ spec: { ...SPEC, advancedSelector: [{ key: 'app', operator: 'In' }] } })
    expect(reasonsOf(selecting.events)).toEqual(['Created', 'InvalidLabelSelector', 'InvalidSpec'])
  })

  it('reports a target without running containers, and a missing container', async () => {
    const [empty, web] = [pod('web-1', { containers: [] }), pod('web-1')]
    const nothing = await pass({ state: { pods: [empty], targetPods: [empty] } })
    expect(nothing.written).toEqual([])
    expect(reasonsOf(nothing.events)).toEqual(['Created', 'EmptyDisruption'])
    const other = await pass({
      spec: { ...SPEC, containers: ['other'] },
      state: { pods: [web], targetPods: [web] },
    })
    expect(reasonsOf(other.events)).toEqual(['Created', 'CreateFailed'])
  })

  it('reports trouble of targets once, unless operators disable the observer', async () => {
    const trouble = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
    const well = { pods: [pod('web-1')], targetPods: [pod('web-1')] }
    const first = await pass({ state: well })
    const bad = [pod('web-1', { trouble })]
    const ill = { pods: bad, targetPods: bad, chaosPods: [chaosPod('web-1')] }
    const status = first.next.target.status as object
    const told = await pass({ state: ill, status })
    const warning = { type: 'Warning', reason: 'TargetPodContainersInWarningState' } as const
    expect(told.events).toMatchObject([
      { ...warning, message: 'target web-1: container app: Error' },
      { ...warning, message: 'target of disruption shop/slow: container app: Error', about: 'Pod web-1' },
    ])
    const again = await pass({ state: ill, status: told.next.target.status as object })
    expect(again.events).toEqual([])
    const over = await pass({
      state: { ...well, chaosPods: [chaosPod('web-1')] },
      status: told.next.target.status as object,
    })
    expect(over.events.map(({ reason, about }) => [reason, about])).toEqual([
      ['RecoveredWarningStateInTargetPod', undefined],
      ['RecoveredWarningStateInTargetPod', 'Pod web-1'],
    ])
    expect(over.status).toMatchObject({ targetStates: {} })
    const silent = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, enableObserver: false } }
    expect((await pass({ state: ill, status, settings: silent })).events).toEqual([])
  })

  it('reports nothing about a target that is being deleted: neither its status, nor Warnings, nor a recovery', async () => {
    const trouble = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
    const state = { pods: [pod('web-1')], targetPods: [pod('web-1')], chaosPods: [chaosPod('web-1')] }
    const well = (await pass({ state: { ...state, chaosPods: [] } })).next.target.status as object
    const ill = [pod('web-1', { trouble })]
    const told = (await pass({ state: { ...state, pods: ill, targetPods: ill }, status: well })).next.target.status
    const lastMs = at(1).getTime()
    const warned = { podWarnings: [{ uid: 'uid-web-1', about: 'liveness', reason: 'Unhealthy', lastMs } as const] }
    const going = [pod('web-1', { isDeleting: true })]
    const found = { ...state, ...warned, pods: going, targetPods: going }
    expect((await pass({ state: found, status: well })).events).toEqual([])
    const { events } = await pass({ state: { ...state, ...warned }, status: well })
    expect(events.map(({ reason, about }) => [reason, about])).toEqual([
      ['TargetPodLivenessProbe', undefined],
      ['TargetPodLivenessProbe', 'Pod web-1'],
    ])
    const after = await pass({ state: found, status: told as object })
    expect([after.events, after.next.target.status]).toMatchObject([
      [],
      { targetStates: { 'web-1': { warnings: ['TargetPodContainersInWarningState'] } } },
    ])
  })

  it('warns that 100 is not 100 %', async () => {
    const { events } = await pass({
      spec: { ...SPEC, count: 100 },
      state: { pods: [pod('web-1')], targetPods: [pod('web-1')] },
    })
    expect(reasonsOf(events)).toContain('InvalidSpec')
  })

  it('continues with the original spec after a change, and reports each change once', async () => {
    const state = { pods: [pod('web-1')], targetPods: [pod('web-1')] }
    const first = await pass({ state })
    const changed = await pass({
      spec: { ...SPEC, network: { drop: 99 } },
      metadata: { generation: 2 },
      state,
      status: first.next.target.status as object,
    })
    expect(changed.events).toContainEqual(expect.objectContaining({ reason: 'Mutated', occasion: '2' }))
    const [made] = changed.writes as unknown as [{ object: { spec: { containers: [{ args: string[] }] } } }]
    expect(made.object.spec.containers[0].args.join(' ')).toContain('--drop 30')
  })

  it.each([
    { staticTargeting: true },
    { selector: { app: 'another' } },
    { advancedSelector: [{ key: 'app', operator: 'Exists' }] },
    { level: 'node' },
  ])(
    'keeps its targets that are there, and draws no others, where its spec is made to select otherwise: %j',
    async (edit) => {
      const targets = ['web-1', 'web-2']
      const spec = { ...SPEC, count: '100%' }
      const first = await pass({ spec, state: { pods: targets.map((name) => pod(name)) } })
      expect(first.status['targets']).toEqual(targets)
      const status = first.next.target.status as object
      const chaosPods = targets.map((name) => chaosPod(name))
      const changed = async (state: Partial<DisruptionState>, now: object = edit) =>
        await pass({ spec: { ...spec, ...now }, metadata: { generation: 2 }, state: { chaosPods, ...state }, status })
      const all = await changed({ pods: [pod('other')], targetPods: targets.map((name) => pod(name)) })
      expect([all.next.target.status?.targets, all.written]).toEqual([targets, []])
      // One of them has been deleted.
      const less = await changed({ pods: [pod('other')], targetPods: [pod('web-1')] })
      expect(less.next.target.status?.targets).toEqual(['web-1'])
      expect(less.written).toEqual(['remove Pod chaos-slow-web-2'])
      const back = await changed({ pods: [pod('web-1'), pod('web-2'), pod('other')] }, {})
      expect(back.next.target.status?.targets).toEqual(['other', ...targets])
    },
  )

  it('is deleted during an emergency stop', async () => {
    const { written, events } = await pass({
      state: { home: { name: 'shop', stop: 'too many alerts' }, pods: [pod('web-1')] },
    })
    expect(written).toEqual(['remove Disruption slow'])
    expect(events).toMatchObject([
      { reason: 'EmergencyStop', message: expect.stringContaining('too many alerts') as string },
    ])
    const deleteOnly = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, deleteOnly: true } }
    expect((await pass({ settings: deleteOnly, state: { pods: [pod('web-1')] } })).written).toEqual([
      'remove Disruption slow',
    ])
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

// Passes over a Disruption without servers: the writes of each step, their order, and a repeated pass.

import { describe, expect, it, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { CHAOS_POD_FINALIZER } from '../../../../workflows/chaos/contract.ts'
import { explainDisruption } from '../../../../workflows/chaos/disruption/explain.ts'
import type { DisruptionState } from '../../../../workflows/chaos/disruption/pass.ts'
import { timestampText } from '../../../../workflows/chaos/timestamp.ts'
import { at, chaosPod, collecting, pass, pod, reasonsOf, SPEC, there, useTime } from './passes.ts'

useTime()

describe('a pass over a new Disruption', () => {
  it('records the spec, chooses targets, records them, and creates their chaos pods', async () => {
    const { writes, status, events, outcome } = await pass({
      state: there('web-1', 'web-2'),
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
    const createdWith = async (spec: object) => {
      const { events, status } = await pass({ spec, metadata: { annotations: { UserInfo: '{"username":"ann"}' } } })
      const { annotations } = events.find(({ reason }) => reason === 'Created') ?? {}
      return { annotations, originalSpec: status['originalSpec'] }
    }
    const { annotations, originalSpec } = await createdWith(SPEC)
    expect(Object.keys(annotations ?? {})).toEqual(['disruption'])
    expect(JSON.parse(annotations?.['disruption'] ?? '')).toEqual({
      apiVersion: 'chaos.datadoghq.com/v1beta1',
      kind: 'Disruption',
      metadata: { name: 'slow', namespace: 'shop', uid: 'uid-slow' },
      spec: originalSpec,
    })
    const hosts = Array.from({ length: 1000 }, (_, n) => ({ host: `host-${n}.example.com` }))
    const long = await createdWith({ ...SPEC, network: { drop: 30, hosts } })
    expect(long.annotations).toEqual({
      'pawl.dev/left-out': expect.stringMatching(/^disruption \(3\d{4} bytes\)$/) as string,
    })
  })

  it('creates nothing if the status write fails, and creates the same chaos pods when it is repeated', async () => {
    const state = there('web-1')
    const first = await pass({ state })
    const again = await pass({ state, status: first.after })
    expect(again.written).toEqual(first.written)
    expect(again.status).toEqual({})
    const found = await pass({
      state: { ...state, chaosPods: [chaosPod('web-1')] },
      status: first.after,
    })
    expect(found.written).toEqual([])
  })

  it.each([
    ['an offset', { createPods: { offset: '30s' } }, 29_000],
    ['a time', { createPods: { notBefore: '2026-01-02T03:01:00Z' } }, 59_000],
  ])('waits for its trigger: %s', async (_, triggers, againMs) => {
    const { written, outcome, status } = await pass({ spec: { ...SPEC, triggers }, state: there('web-1') })
    expect([written, outcome.againMs]).toEqual([[], againMs])
    expect(status).toMatchObject({ injectionStatus: 'NotInjected' })
  })

  it.each<[string, object, string, number]>([
    ['its duration', { duration: '15m' }, '03:00:00', 900],
    ['a duration in nanoseconds', { duration: 90_000_000_000 }, '03:00:00', 90],
    ['the default duration', { duration: '' }, '03:00:00', 3600],
    [
      'the offset of its injection',
      { duration: '1m', triggers: { createPods: { offset: '1s' }, inject: { offset: '10s' } } },
      '03:00:11',
      71,
    ],
    [
      'the time of its injection',
      { duration: '1m', triggers: { inject: { notBefore: '2026-01-02T03:01:00Z' } } },
      '03:01:00',
      120,
    ],
    [
      'its creation, if triggers precede it',
      { duration: '1m', triggers: { createPods: { notBefore: '2020-01-01T00:00:00Z' }, inject: { offset: '10s' } } },
      '03:00:10',
      70,
    ],
  ])('is injected and ends by %s', async (_, spec, from, endsIn) => {
    const { writes } = await pass({ spec: { ...SPEC, ...spec }, state: there('web-1') })
    const [{ object }] = writes as unknown as [{ object: { spec: { containers: [{ args: readonly string[] }] } } }]
    const args = object.spec.containers[0].args.join(' ')
    expect(args).toContain(`--not-injected-before 2026-01-02T${from}Z`)
    expect(args).toContain(`--deadline ${timestampText(at(endsIn + 2).getTime())}`)
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
    const { message = '' } = other.after as { readonly message?: string }
    expect(message).toMatch(/^network-disruption on web-1: no chaos pod: /)
    expect(explainDisruption({ spec: SPEC, status: other.after }).summary).toBe(
      message
        .replace('network-disruption on web-1: ', '0 of 1 targets injected: ')
        .replace('no chaos pod:', 'no chaos pod for network-disruption into web-1:'),
    )
  })

  it('reports trouble of targets once, unless operators disable the observer', async () => {
    const trouble = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
    const well = there('web-1')
    const first = await pass({ state: well })
    const bad = [pod('web-1', { trouble })]
    const troubled = { pods: bad, targetPods: bad, chaosPods: [chaosPod('web-1')] }
    const status = first.after
    const reported = await pass({ state: troubled, status })
    const warning = { type: 'Warning', reason: 'TargetPodContainersInWarningState' } as const
    expect(reported.events).toMatchObject([
      { ...warning, message: 'target web-1: container app: Error' },
      { ...warning, message: 'target of Disruption shop/slow: container app: Error', about: 'Pod web-1' },
    ])
    const again = await pass({ state: troubled, status: reported.after })
    expect(again.events).toEqual([])
    const recovered = await pass({
      state: { ...well, chaosPods: [chaosPod('web-1')] },
      status: reported.after,
    })
    expect(recovered.events.map(({ reason, about }) => [reason, about])).toEqual([
      ['RecoveredWarningStateInTargetPod', undefined],
      ['RecoveredWarningStateInTargetPod', 'Pod web-1'],
    ])
    expect(recovered.status).toMatchObject({ targetStates: {} })
    const silent = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, enableObserver: false } }
    expect((await pass({ state: troubled, status, settings: silent })).events).toEqual([])
  })

  it('reports nothing about a target that is being deleted: neither its status, nor Warnings, nor a recovery', async () => {
    const trouble = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
    const state = { pods: [pod('web-1')], targetPods: [pod('web-1')], chaosPods: [chaosPod('web-1')] }
    const well = (await pass({ state: { ...state, chaosPods: [] } })).next.target.status as object
    const troubledPods = [pod('web-1', { trouble })]
    const troubledStatus = (
      await pass({ state: { ...state, pods: troubledPods, targetPods: troubledPods }, status: well })
    ).next.target.status
    const lastMs = at(1).getTime()
    const warned = { podWarnings: [{ uid: 'uid-web-1', about: 'liveness', reason: 'Unhealthy', lastMs } as const] }
    const deleting = [pod('web-1', { isDeleting: true })]
    const deletingState = { ...state, ...warned, pods: deleting, targetPods: deleting }
    expect((await pass({ state: deletingState, status: well })).events).toEqual([])
    const { events } = await pass({ state: { ...state, ...warned }, status: well })
    expect(events.map(({ reason, about }) => [reason, about])).toEqual([
      ['TargetPodLivenessProbe', undefined],
      ['TargetPodLivenessProbe', 'Pod web-1'],
    ])
    const after = await pass({ state: deletingState, status: troubledStatus as object })
    expect([after.events, after.next.target.status]).toMatchObject([
      [],
      { targetStates: { 'web-1': { warnings: ['TargetPodContainersInWarningState'] } } },
    ])
  })

  it('warns that 100 is not 100 %', async () => {
    const { events } = await pass({
      spec: { ...SPEC, count: 100 },
      state: there('web-1'),
    })
    expect(reasonsOf(events)).toContain('InvalidSpec')
  })

  it('continues with the original spec after a change, and reports each change once', async () => {
    const state = there('web-1')
    const first = await pass({ state })
    const changed = await pass({
      spec: { ...SPEC, network: { drop: 99 } },
      metadata: { generation: 2 },
      state,
      status: first.after,
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
      const status = first.after
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
})

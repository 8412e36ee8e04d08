// Passes over a Disruption without servers: what each step writes, in which order, and what a repeated pass makes of what is there.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { CHAOS_POD_FINALIZER, FINALIZER } from '../../../../workflows/chaos/contract.ts'
import { disruptionController } from '../../../../workflows/chaos/disruption/controller.ts'
import type { Disruption } from '../../../../workflows/chaos/disruption/kind.ts'
import type { ChaosPod, Target } from '../../../../workflows/chaos/disruption/observed.ts'
import type { DisruptionState } from '../../../../workflows/chaos/disruption/pass.ts'
import type { JsonValue } from '../../../../workflows/kit/index.ts'
import { runPass } from '../../../../workflows/kit/testing/index.ts'

const CREATED = '2026-01-02T03:00:00Z'
const at = (seconds: number) => new Date(Date.parse(CREATED) + seconds * 1000)

beforeEach(() => {
  vi.useFakeTimers({ now: at(1), toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const SPEC = { selector: { app: 'web' }, count: 1, duration: '10m', network: { drop: 30 } }

interface Given {
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
  readonly state?: Partial<DisruptionState>
  readonly settings?: object
}

async function pass({ spec = SPEC, status, metadata, state = {}, settings }: Given = {}) {
  const target = {
    metadata: {
      ...{ name: 'slow', namespace: 'shop', uid: 'uid-slow', creationTimestamp: CREATED, finalizers: [FINALIZER] },
      ...metadata,
    },
    ...{ spec, ...(status && { status }) },
  } as unknown as Disruption
  return await runPass(disruptionController, { target, state, ...(settings && { settings: settings as JsonValue }) })
}

const pod = (name: string, is: Partial<Target> = {}): Target => ({
  ...{ apiVersion: 'v1', kind: 'Pod', annotations: {}, isRunning: true, waitsForInit: false, node: 'n1' },
  metadata: { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: '1' },
  ...{ ip: '10.0.0.1', containers: [{ name: 'app', id: 'containerd://1' }] },
  ...is,
})
const chaosPod = (target: string, is: Partial<ChaosPod> = {}): ChaosPod => ({
  ...{
    apiVersion: 'v1',
    kind: 'Pod',
    target,
    does: 'network-disruption',
    disruption: 'slow',
    disruptionNamespace: 'shop',
  },
  metadata: {
    name: `chaos-slow-${target}`,
    namespace: 'chaos-engineering',
    uid: `uid-c-${target}`,
    resourceVersion: '1',
  },
  ...{ phase: 'Running', isReady: false, isDeleting: false, isHeld: true, reason: '', injector: 'running' as const },
  ...{ hasCompleted: false, isDisturbing: true },
  ...is,
})

/** Nothing holds it up at its end. */
const PROMPT = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, finalizerDeletionDelayMs: 0 } }
const collecting = (delayMs: number) => ({
  ...DEFAULT_CONFIG,
  controller: { ...DEFAULT_CONFIG.controller, expiredDisruptionGCDelayMs: delayMs },
})
const reasonsOf = (events: readonly { readonly reason: string }[]) => events.map(({ reason }) => reason)

describe('a pass over a new Disruption', () => {
  it('keeps the spec, chooses, says whom it has chosen, and makes what it has said', async () => {
    const { writes, status, events, outcome } = await pass({
      state: { pods: [pod('web-1'), pod('web-2')], targetPods: [pod('web-1'), pod('web-2')] },
    })
    expect(writes).toMatchObject([{ verb: 'create', object: { kind: 'Pod' } }])
    const [{ object }] = writes as unknown as [{ object: { metadata: { name: string; finalizers: string[] } } }]
    const [target] = (status['targets'] ?? []) as string[]
    expect(['web-1', 'web-2']).toContain(target)
    expect(object.metadata.finalizers).toEqual([CHAOS_POD_FINALIZER])
    expect(status).toMatchObject({
      ...{ injectionStatus: 'NotInjected', runCount: 1, selectedTargetsCount: 1, ignoredTargetsCount: 1 },
      originalSpec: { ...SPEC, duration: '10m0s' },
      targetInjections: {
        [target!]: { 'network-disruption': { injectionStatus: 'NotInjected', injectorPodName: object.metadata.name } },
      },
    })
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'Created', message: 'network-disruption of pods, count 1, for 10m0s' },
      { reason: 'ChaosPodCreated' },
      { reason: 'Disrupted', about: `Pod ${target}` },
    ])
    expect(outcome.laterMs).toBe(599_000)
  })

  it('has made nothing when it cannot say whom it has chosen, and makes the very same when it is repeated', async () => {
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

  it('makes another run of what had been injected and is gone', async () => {
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

  it('waits for its beginning', async () => {
    const triggers = { createPods: { offset: '30s' } }
    const { written, outcome, status } = await pass({ spec: { ...SPEC, triggers }, state: { pods: [pod('web-1')] } })
    expect(written).toEqual([])
    expect(outcome.againMs).toBe(29_000)
    expect(status).toMatchObject({ injectionStatus: 'NotInjected' })
  })

  it('does nothing when its time is over already: a clock that has jumped makes no chaos pod', async () => {
    vi.setSystemTime(at(601))
    const { written, status, events } = await pass({ state: { pods: [pod('web-1')] } })
    expect(written).toEqual([])
    expect(status).toMatchObject({ injectionStatus: 'PreviouslyNotInjected' })
    expect(reasonsOf(events)).toEqual(['Created', 'DurationOver'])
  })

  it('is deleted some time after, where operators want that', async () => {
    vi.setSystemTime(at(601))
    const early = await pass({ settings: collecting(60_000) })
    expect([early.written, early.outcome.laterMs]).toEqual([[], 59_000])
    vi.setSystemTime(at(660))
    const late = await pass({ settings: collecting(60_000) })
    expect(late.written).toEqual(['remove Disruption slow'])
    expect(reasonsOf(late.events)).toEqual(['Created', 'GCOver'])
  })

  it('refuses a spec that is wrong, where no webhook has', async () => {
    const { written, events } = await pass({ spec: { ...SPEC, network: {} } })
    expect(written).toEqual([])
    expect(events).toMatchObject([{ reason: 'Created' }, { type: 'Warning', reason: 'InvalidSpec' }])
    const selecting = await pass({ spec: { ...SPEC, advancedSelector: [{ key: 'app', operator: 'In' }] } })
    expect(reasonsOf(selecting.events)).toEqual(['Created', 'InvalidLabelSelector', 'InvalidSpec'])
  })

  it('says of a target of which nothing runs that there is nothing to disturb, and of a container that it is not there', async () => {
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

  it('tells of targets in trouble once, unless operators want nobody to be told', async () => {
    const trouble = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
    const well = { pods: [pod('web-1')], targetPods: [pod('web-1')] }
    const first = await pass({ state: well })
    const bad = [pod('web-1', { trouble })]
    const ill = { pods: bad, targetPods: bad, chaosPods: [chaosPod('web-1')] }
    const status = first.next.target.status as object
    const told = await pass({ state: ill, status })
    expect(told.events).toMatchObject([{ type: 'Warning', reason: 'TargetPodContainersInWarningState' }])
    const again = await pass({ state: ill, status: told.next.target.status as object })
    expect(again.events).toEqual([])
    const over = await pass({
      state: { ...well, chaosPods: [chaosPod('web-1')] },
      status: told.next.target.status as object,
    })
    expect(reasonsOf(over.events)).toEqual(['RecoveredWarningStateInTargetPod'])
    expect(over.status).toMatchObject({ targetStates: {} })
    const silent = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, enableObserver: false } }
    expect((await pass({ state: ill, status, settings: silent })).events).toEqual([])
  })

  it('says that 100 is not 100 %', async () => {
    const { events } = await pass({
      spec: { ...SPEC, count: 100 },
      state: { pods: [pod('web-1')], targetPods: [pod('web-1')] },
    })
    expect(reasonsOf(events)).toContain('InvalidSpec')
  })

  it('goes on with the original spec when somebody has changed it, and says so once for each change', async () => {
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

  it('is deleted where everything is to stop', async () => {
    const { written, events } = await pass({
      state: { home: { name: 'shop', stop: 'too many alerts' }, pods: [pod('web-1')] },
    })
    expect(written).toEqual(['remove Disruption slow'])
    expect(events).toMatchObject([
      { reason: 'Created' },
      { reason: 'EmergencyStop', message: expect.stringContaining('too many alerts') as string },
    ])
    const deleteOnly = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, deleteOnly: true } }
    expect((await pass({ settings: deleteOnly, state: { pods: [pod('web-1')] } })).written).toEqual([
      'remove Disruption slow',
    ])
  })

  it('says which chaos pods have failed', async () => {
    const chaosPods = [chaosPod('a', { phase: 'Failed', injector: 'failed' }), chaosPod('b')]
    const { events, writes } = await pass({
      status: { specHash: 'x', targets: ['a', 'b'] },
      state: { pods: [pod('a'), pod('b')], chaosPods },
    })
    expect(events).toContainEqual(expect.objectContaining({ reason: 'ChaosPodWarningState', type: 'Warning' }))
    expect(writes.filter(({ verb }) => verb === 'release')).toEqual([])
  })

  it('lets go of chaos pods that somebody deletes, and of none that still clean', async () => {
    const going = { isDeleting: true }
    const { writes } = await pass({
      status: { specHash: 'x', targets: ['a', 'b', 'c'] },
      state: {
        pods: [pod('a'), pod('b'), pod('c')],
        targetPods: [pod('a'), pod('c')],
        targetNodes: [{ ...pod('n1'), kind: 'Node', metadata: { name: 'n1', uid: 'u', resourceVersion: '1' } }],
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

describe('a pass over a Disruption that is being deleted', () => {
  const deleted = { deletionTimestamp: '2026-01-02T03:00:01Z' }
  const status = { specHash: 'x', originalSpec: SPEC, injectionStatus: 'Injected', targets: ['a'] }

  it('deletes its chaos pods, and waits for those that clean', async () => {
    const {
      written,
      ended,
      outcome,
      status: said,
    } = await pass({
      ...{ metadata: deleted, status, settings: PROMPT },
      state: { chaosPods: [chaosPod('a', { isReady: true })], targetPods: [pod('a')] },
    })
    expect(written).toEqual(['remove Pod chaos-slow-a'])
    expect(said).toMatchObject({ injectionStatus: 'PreviouslyInjected' })
    expect([ended, outcome.againMs]).toEqual([undefined, 10_000])
  })

  it('holds the Disruption while one is left, also one that is not its own', async () => {
    const { ended, outcome } = await pass({
      ...{ metadata: deleted, status, settings: PROMPT },
      state: { labelledChaosPods: [chaosPod('b')] },
    })
    expect(ended).toBeUndefined()
    expect(outcome.againMs).toBe(10_000)
  })

  it('is stuck on what could not clean, and says how to go on', async () => {
    const {
      ended,
      events,
      status: said,
    } = await pass({
      ...{ metadata: deleted, status, settings: PROMPT },
      state: {
        chaosPods: [chaosPod('a', { isDeleting: true, phase: 'Failed', injector: 'failed' })],
        targetPods: [pod('a')],
      },
    })
    expect(ended).toBeUndefined()
    expect(said).toMatchObject({ isStuckOnRemoval: true })
    expect(said['targetInjections']).toMatchObject({
      a: { 'network-disruption': { injectionStatus: 'IsStuckOnRemoval' } },
    })
    expect(events).toMatchObject([
      { reason: 'StuckOnRemoval', message: expect.stringContaining('kubectl -n chaos-engineering') as string },
    ])
  })

  it('is told as stuck when it takes too long', async () => {
    vi.setSystemTime(at(1 + 15 * 60))
    const { status: said, events } = await pass({
      ...{ metadata: deleted, status, settings: PROMPT },
      state: { chaosPods: [chaosPod('a', { isDeleting: true })], targetPods: [pod('a')] },
    })
    expect(said).toMatchObject({ isStuckOnRemoval: true })
    expect(reasonsOf(events)).toEqual(['StuckOnRemoval'])
  })

  it('ends it when nothing is left, after the delay that operators want', async () => {
    const first = await pass({ metadata: deleted, status: { ...status, isStuckOnRemoval: true } })
    expect(first.status).toMatchObject({ cleanedAt: '2026-01-02T03:00:01Z', isStuckOnRemoval: false })
    expect([first.ended, first.outcome.againMs]).toEqual([undefined, 20_000])
    expect(reasonsOf(first.events)).toEqual(['Cleaned'])
    vi.setSystemTime(at(21))
    const last = await pass({ metadata: deleted, status: { ...status, cleanedAt: '2026-01-02T03:00:01Z' } })
    expect([last.ended, last.finalizer]).toEqual(['Deleted', 'taken off'])
    expect(reasonsOf(last.events)).toEqual(['Finished'])
  })
})

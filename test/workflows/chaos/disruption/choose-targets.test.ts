// Targets that are lost or spared. Source: spec/chaos.md 2.3 (the last but one), B14, B15.

import { describe, expect, it, vi } from 'vitest'
import { at, chaosPod, node, pass, pod, SPEC, useTime } from './passes.ts'
import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'

useTime()

const STATIC = { ...SPEC, count: 2, staticTargeting: true }
const DOES = 'network-disruption'
const SINCE = '2026-01-02T03:00:01Z'
const going = { isDeleting: true, phase: 'Succeeded', hasCompleted: true } as const
const ready = { isReady: true } as const
const injected = (target: string, since?: string) => ({
  [target]: {
    [DOES]: { injectionStatus: 'Injected', injectorPodName: `chaos-slow-${target}`, ...(since && { since }) },
  },
})
const counts = (selected: number, ignored: number, desired: number, done: number) => ({
  selectedTargetsCount: selected,
  ignoredTargetsCount: ignored,
  desiredTargetsCount: desired,
  injectedTargetsCount: done,
})
/** Two of three matching pods. */
const status = {
  specHash: 'x',
  originalSpec: STATIC,
  injectionStatus: 'Injected',
  runCount: 1,
  targets: ['a', 'b'],
  ...counts(2, 1, 2, 2),
  targetInjections: { ...injected('a', SINCE), ...injected('b', SINCE) },
}
const there = {
  candidatePods: [pod('a'), pod('b'), pod('c')],
  targetPods: [pod('a'), pod('b'), pod('c')],
  targetNodes: [node('n1')],
}

describe('a static target whose chaos pod a user has deleted', () => {
  it('B14: is lost, is not replaced, and no longer counts', async () => {
    const chaosPods = [chaosPod('a', going), chaosPod('b', ready)]
    const first = await pass({ spec: STATIC, status, state: { ...there, chaosPods } })
    expect(first.written).toEqual(['release Pod chaos-slow-a finalizer.chaos.datadoghq.com/chaos-pod'])
    expect(first.next.target.status).toMatchObject({
      injectionStatus: 'Injected',
      targets: ['a', 'b'],
      ignoredTargets: ['a'],
      ...counts(1, 2, 1, 1),
      targetInjections: { a: { [DOES]: { injectionStatus: 'NotInjected', since: SINCE } } },
    })
    const after = { ...there, chaosPods: [chaosPod('b', ready)] }
    const second = await pass({ spec: STATIC, status: first.after, state: after })
    expect([second.written, second.status]).toEqual([[], {}])
  })

  it('is recorded as lost before its chaos pod is released, so that the next worker knows it', async () => {
    const state = { ...there, chaosPods: [chaosPod('a', going), chaosPod('b', ready)] }
    const refused = { code: 'Changed', message: 'changed', retryable: true }
    const { written, outcome } = await pass({ spec: STATIC, status, state, fails: { status: refused } })
    expect(written).toEqual([])
    expect(outcome.faults).toContainEqual(expect.objectContaining(refused))
  })

  it('is lost even if it was not injected yet, and while its injector cleans up', async () => {
    const waiting = {
      ...status,
      injectionStatus: 'NotInjected',
      targetInjections: { ...injected('a'), ...injected('b') },
    }
    const chaosPods = [chaosPod('a', { isDeleting: true, ...ready }), chaosPod('b')]
    const { status: said, written } = await pass({ spec: STATIC, status: waiting, state: { ...there, chaosPods } })
    expect(said).toMatchObject({ ignoredTargets: ['a'], ...counts(1, 2, 1, 2), injectedTargetsCount: 0 })
    expect(written).toEqual([])
  })

  it('is lost if the chaos pod disappeared without a running worker after the injection; a planned chaos pod is created', async () => {
    const planned = { ...status, targetInjections: { ...injected('a', SINCE), ...injected('b') } }
    const { next, written } = await pass({ spec: STATIC, status: planned, state: there })
    expect(next.target.status).toMatchObject({ ignoredTargets: ['a'], runCount: 1, ...counts(1, 2, 1, 0) })
    expect(written).toEqual(['create Pod chaos-slow-b'])
  })

  it('leaves nothing to do if it was the last target, which was injected until then', async () => {
    const all = { ...there, chaosPods: [chaosPod('a', going), chaosPod('b', going)] }
    const first = await pass({ spec: STATIC, status, state: all, released: 'gone' })
    expect(first.next.target.status).toMatchObject({
      injectionStatus: 'PausedInjected',
      ignoredTargets: ['a', 'b'],
      ...counts(0, 3, 0, 0),
    })
    const second = await pass({ spec: STATIC, status: first.after, state: there })
    expect([second.written, second.status]).toEqual([[], {}])
    vi.setSystemTime(at(601))
    const over = await pass({ spec: STATIC, status: first.after, state: there })
    expect(over.status).toMatchObject({ injectionStatus: 'PreviouslyInjected' })
  })

  it('keeps the disruptions of other kinds', async () => {
    const spec = { ...STATIC, count: 1, cpuPressure: {} }
    const cpu = { 'cpu-pressure': { injectionStatus: 'Injected', injectorPodName: 'cpu', since: SINCE } }
    const both = {
      ...status,
      originalSpec: spec,
      targets: ['a'],
      ...counts(1, 2, 1, 1),
      targetInjections: { a: { ...injected('a', SINCE)['a'], ...cpu } },
    }
    const metadata = { name: 'cpu', namespace: 'chaos-engineering', uid: 'uid-cpu', resourceVersion: '1' }
    const cpuChaosPod = chaosPod('a', { does: 'cpu-pressure', metadata, ...ready })
    const { written, next } = await pass({
      spec,
      status: both,
      state: { ...there, chaosPods: [chaosPod('a', going), cpuChaosPod] },
    })
    expect(written).toEqual(['release Pod chaos-slow-a finalizer.chaos.datadoghq.com/chaos-pod'])
    expect(next.target.status).toMatchObject({ ignoredTargets: ['a'], ...counts(0, 3, 0, 0) })
  })
})

describe('no target is lost', () => {
  it('with dynamic targeting, where another chaos pod is created', async () => {
    const spec = { ...STATIC, staticTargeting: false }
    const { next, written } = await pass({
      spec,
      status: { ...status, originalSpec: spec },
      released: 'gone' as const,
      state: {
        pods: there.candidatePods,
        targetPods: there.targetPods,
        chaosPods: [chaosPod('a', going), chaosPod('b', ready)],
      },
    })
    expect(next.target.status).not.toHaveProperty('ignoredTargets')
    expect(written).toContainEqual(expect.stringMatching(/^create Pod chaos-slow-/))
  })

  it('when the Disruption has expired or is being deleted, also by an emergency stop', async () => {
    const state = { ...there, chaosPods: [chaosPod('a', going), chaosPod('b', going)] }
    const deleted = await pass({ spec: STATIC, status, state, metadata: { deletionTimestamp: SINCE } })
    const over = await pass({ spec: STATIC, status, state, latest: at(601) })
    const stopped = await pass({ spec: STATIC, status, state: { ...state, home: { name: 'shop', stop: 'alerts' } } })
    for (const { next } of [deleted, over, stopped]) expect(next.target.status).not.toHaveProperty('ignoredTargets')
  })

  it('B15: when a node has failed together with its chaos pod', async () => {
    const spec = {
      selector: { app: 'web' },
      count: 1,
      duration: '10m',
      level: 'node',
      nodeFailure: {},
      staticTargeting: true,
    }
    const does = { 'node-failure': { injectionStatus: 'Injected', injectorPodName: 'chaos-slow-n1', since: SINCE } }
    const failed = {
      ...status,
      originalSpec: spec,
      targets: ['n1'],
      targetInjections: { n1: does },
      ...counts(1, 0, 1, 1),
    }
    const state = { candidateNodes: [node('n1')], targetNodes: [node('n1')] }
    const evicted = { ...state, chaosPods: [chaosPod('n1', { does: 'node-failure', isDeleting: true })] }
    for (const found of [evicted, state]) {
      const { next, written } = await pass({ spec, status: failed, state: found })
      expect(next.target.status).not.toHaveProperty('ignoredTargets')
      expect(next.target.status).toMatchObject({ selectedTargetsCount: 1, desiredTargetsCount: 1 })
      expect(written.filter((one) => one.startsWith('create'))).toEqual([])
    }
  })
})

describe('the status of chaos-controller', () => {
  const { specHash, originalSpec, ...theirs } = status

  it('today has no list of lost targets: missing chaos pods are created, and deleted ones mean a lost target', async () => {
    expect([specHash, originalSpec]).toEqual(['x', STATIC])
    const { written, next } = await pass({
      spec: STATIC,
      status: theirs,
      state: { ...there, chaosPods: [chaosPod('b', ready)] },
    })
    expect(written).toEqual([expect.stringMatching(/^create Pod chaos-slow-/)])
    expect(next.target.status).not.toHaveProperty('ignoredTargets')
    const state = { ...there, chaosPods: [chaosPod('a', going), chaosPod('b', ready)], labelledChaosPods: [] }
    expect((await pass({ spec: STATIC, status: theirs, state })).status).toMatchObject({ ignoredTargets: ['a'] })
  })

  it('in 2021 has lost targets in one list only, and no other targets are drawn for them', async () => {
    const old = { targets: [], ignoredTargets: ['a', 'b'], injectionStatus: 'Injected' }
    const { written, next } = await pass({ spec: STATIC, status: old, state: there })
    expect(written).toEqual([])
    expect(next.target.status).toMatchObject({ targets: [], ignoredTargets: ['a', 'b'] })
  })
})

const NODES = { selector: { role: 'web' }, count: '100%', duration: '10m', level: 'node', cpuPressure: {} }

/** The settings that a pass gets from a worker. */
const workerOn = (ownNodes: readonly string[], enableSafeguards = true) => ({
  ...DEFAULT_CONFIG,
  controller: { ...DEFAULT_CONFIG.controller, enableSafeguards, ownNodes },
})

const statusOf = async (given: Parameters<typeof pass>[0]) => (await pass(given)).status

describe('the node of the worker', () => {
  const state = { nodes: [node('a'), node('b'), node('c')] }

  it('is not disturbed, and the status contains it', async () => {
    expect(await statusOf({ spec: NODES, state, settings: workerOn(['a']) })).toMatchObject({
      targets: ['b', 'c'],
      sparedNodes: ['a'],
      desiredTargetsCount: 2,
      ignoredTargetsCount: 0,
    })
  })

  it('is disturbed like other nodes without safeguards, and if it is unknown', async () => {
    for (const settings of [workerOn(['a'], false), DEFAULT_CONFIG]) {
      const status = await statusOf({ spec: NODES, state, settings })
      expect(status).toMatchObject({ targets: ['a', 'b', 'c'] })
      expect(status).not.toHaveProperty('sparedNodes')
    }
  })

  it('stays spared after a pass of another worker, so that they do not alternate', async () => {
    const first = await pass({ spec: NODES, state, settings: workerOn(['a']) })
    const second = await pass({
      spec: NODES,
      state,
      settings: workerOn(['b']),
      status: first.after,
    })
    expect(second.status).toMatchObject({ targets: ['c'], sparedNodes: ['a', 'b'] })
    const third = await pass({
      spec: NODES,
      state,
      settings: workerOn(['a']),
      status: second.after,
    })
    expect(third.next.target.status).toMatchObject({ targets: ['c'], sparedNodes: ['a', 'b'] })
  })

  it('protects its pods from node failures only', async () => {
    const pods = { pods: [pod('web-1', { node: 'a' }), pod('web-2', { node: 'b' })] }
    const spec = { selector: { app: 'web' }, count: '100%', duration: '10m' }
    const settings = workerOn(['a'])
    expect(await statusOf({ spec: { ...spec, nodeFailure: {} }, state: pods, settings })).toMatchObject({
      targets: ['web-2'],
      sparedNodes: ['a'],
    })
    const drop = await statusOf({ spec: { ...spec, network: { drop: 30 } }, state: pods, settings })
    expect(drop).toMatchObject({ targets: ['web-1', 'web-2'] })
    expect(drop).not.toHaveProperty('sparedNodes')
  })

  it('leaves no target if it is the only node', async () => {
    const { status, events } = await pass({ spec: NODES, state: { nodes: [node('a')] }, settings: workerOn(['a']) })
    expect(status).toMatchObject({ targets: [], sparedNodes: ['a'] })
    expect(events).toContainEqual(
      expect.objectContaining({
        reason: 'NoTargetsFound',
        message:
          "no ready node matches the selector role=web; correct spec.selector in a new Disruption, or start such a node (see kubectl get nodes -l 'role=web')",
      }),
    )
  })
})

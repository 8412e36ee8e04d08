import { describe, expect, it } from 'vitest'

import {
  observeTargetStates,
  type TargetObservation,
  type TargetStates,
} from '../../../../workflows/chaos/disruption/target-events.ts'
import { nodeTrouble, podTrouble, type Trouble } from '../../../../workflows/chaos/disruption/trouble.ts'

function seen(name: string, trouble?: Trouble, more: Partial<TargetObservation> = {}): TargetObservation {
  return { name, version: `${name}/1`, trouble, isDisturbed: false, wasTarget: true, warningsRead: true, ...more }
}

/** The Events about one target after these observations. */
function course(steps: readonly (Trouble | undefined)[], more: Partial<TargetObservation> = {}) {
  let states: TargetStates = {}
  return steps.map((trouble, index) => {
    const result = observeTargetStates([seen('a', trouble, { wasTarget: index > 0, ...more })], states, 'Pod')
    states = result.states
    return result.events.map(({ reason }) => reason)
  })
}

const CONTAINERS = { warnings: { TargetPodContainersInWarningState: 'container app: Error' } } as const
const POD = { warnings: { TargetPodInWarningState: 'phase Failed' } } as const

describe('an Event of the target observer', () => {
  it('reports each trouble once, and its end when nothing is wrong', () => {
    expect(
      course([
        undefined,
        CONTAINERS,
        CONTAINERS,
        { ...CONTAINERS, warnings: { ...CONTAINERS.warnings, ...POD.warnings } },
        POD,
        undefined,
        undefined,
        CONTAINERS,
      ]),
    ).toEqual([
      ...[[], ['TargetPodContainersInWarningState'], [], ['TargetPodInWarningState'], []],
      ...[['RecoveredWarningStateInTargetPod'], [], ['TargetPodContainersInWarningState']],
    ])
  })

  it('keeps a reason that came from Warnings while Warnings are not read', () => {
    const held: TargetStates = { a: { warnings: ['TargetPodContainersInWarningState', 'TargetPodLivenessProbe'] } }
    const unheard = observeTargetStates([seen('a', undefined, { warningsRead: false })], held, 'Pod')
    expect(unheard).toEqual({ states: { a: { warnings: ['TargetPodLivenessProbe'] } }, events: [], onTargets: [] })
    const heard = observeTargetStates([seen('a')], unheard.states, 'Pod')
    expect(heard.events.map(({ reason }) => reason)).toEqual(['RecoveredWarningStateInTargetPod'])
  })

  it('names the source of a failing readiness', () => {
    const { events } = observeTargetStates(
      [seen('a', { isUnready: true, unreadyBy: 'the readiness probe fails' })],
      {},
      'Pod',
    )
    expect(events.map(({ message }) => message)).toEqual(['target a: the readiness probe fails'])
  })

  it('reports more than two restarts since the first observation or the last report', () => {
    const restarts = (app: number) => ({ restarts: { app } })
    expect(course([restarts(5), restarts(7), restarts(8), restarts(10), restarts(11)])).toEqual([
      ...[[], [], ['TargetPodTooManyRestarts'], [], ['TargetPodTooManyRestarts']],
    ])
    expect(course([undefined, restarts(3)])).toEqual([[], ['TargetPodTooManyRestarts']])
  })

  it('reports a change of readiness, as a Warning only before the disruption', () => {
    const unready = { isUnready: true } as const
    expect(course([undefined, unready, unready, undefined])).toEqual([
      ...[[], ['TargetReadinessProbeChangeBeforeDisruption'], [], ['RecoveredWarningStateInTargetPod']],
    ])
    expect(course([undefined, unready, undefined], { isDisturbed: true })).toEqual([
      ...[[], ['ReadinessProbeChangeDuringDisruption'], []],
    ])
    expect(course([unready, unready, undefined, unready])).toEqual([
      ...[[], [], [], ['TargetReadinessProbeChangeBeforeDisruption']],
    ])
  })

  it('covers many targets and names the first of them', () => {
    const all = Array.from({ length: 7 }, (_, index) => seen(`web-${index}`, CONTAINERS))
    const { events, states } = observeTargetStates(all, {}, 'Pod')
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'TargetPodContainersInWarningState',
        message: `7 targets ${[0, 1, 2, 3, 4].map((index) => `web-${index}: container app: Error`).join('; ')}; and 2 more`,
        occasion: all.map(({ version }) => version).join(' '),
      },
    ])
    expect(Object.keys(states)).toHaveLength(7)
  })

  it('is emitted on each target, up to a maximum', () => {
    const all = Array.from({ length: 51 }, (_, index) => seen(`web-${index}`, { ...CONTAINERS, isUnready: true }))
    const { onTargets } = observeTargetStates(all, {}, 'Pod')
    expect(onTargets.slice(0, 2)).toEqual([
      {
        type: 'Warning',
        reason: 'TargetPodContainersInWarningState',
        message: 'container app: Error',
        occasion: all[0]?.version,
        name: 'web-0',
      },
      {
        type: 'Warning',
        reason: 'TargetReadinessProbeChangeBeforeDisruption',
        message: 'the target runs but is not ready',
        occasion: all[0]?.version,
        name: 'web-0',
      },
    ])
    expect(onTargets).toHaveLength(100)
    expect(onTargets.filter(({ name }) => name === 'web-50')).toEqual([])
  })

  it('is missing for a healthy target, which also has no recorded state', () => {
    expect(observeTargetStates([seen('a'), seen('b', undefined, { wasTarget: false })], {}, 'Node')).toEqual({
      states: {},
      events: [],
      onTargets: [],
    })
  })
})

describe('the trouble of a pod', () => {
  const status = (container: object, more: object = {}) => ({
    status: { phase: 'Running', containerStatuses: [{ name: 'app', restartCount: 0, ...container }], ...more },
  })
  const of = (pod: object) => podTrouble(pod)

  it.each([
    ['runs', status({ state: { running: {} } }), undefined],
    ['has completed', status({ state: { terminated: { reason: 'Completed', exitCode: 0 } } }), undefined],
    ['is being created', status({ state: { waiting: { reason: 'ContainerCreating' } } }), undefined],
    ['has no status', {}, undefined],
    [
      'was stopped, as a rollout does',
      {
        metadata: { deletionTimestamp: '2026-01-02T03:00:00Z' },
        ...status({ state: { terminated: { reason: 'Error', exitCode: 143 } } }, { phase: 'Failed' }),
      },
      undefined,
    ],
    [
      'was not stopped by anybody',
      status({ state: { terminated: { reason: 'Error', exitCode: 143 } } }),
      { warnings: { TargetPodContainersInWarningState: 'container app: Error' } },
    ],
    [
      'fails again and again',
      status({ state: { waiting: { reason: 'CrashLoopBackOff' } }, restartCount: 4 }),
      { restarts: { app: 4 }, warnings: { TargetPodContainersInWarningState: 'container app: CrashLoopBackOff' } },
    ],
    [
      'is evicted',
      { status: { phase: 'Failed', reason: 'Evicted' } },
      { warnings: { TargetPodInWarningState: 'phase Failed, Evicted' } },
    ],
    [
      'runs and is not ready',
      status({ state: { running: {} } }, { conditions: [{ type: 'Ready', status: 'False' }] }),
      { isUnready: true },
    ],
  ])('that %s is told', (_, pod, expected) => {
    expect(of(pod)).toEqual(expected)
  })
})

describe('the trouble of a node', () => {
  const of = (...conditions: readonly object[]) =>
    nodeTrouble({ status: { conditions } } as Parameters<typeof nodeTrouble>[0])

  it('is derived from its conditions', () => {
    const well = { type: 'Ready', status: 'True' }
    expect(of(well, { type: 'MemoryPressure', status: 'False' })).toBeUndefined()
    expect(of(well, { type: 'MemoryPressure', status: 'True', reason: 'Low' })?.warnings).toEqual({
      TargetNodeUnderMemoryPressure: 'MemoryPressure is True (Low)',
    })
    expect(
      of(well, { type: 'DiskPressure', status: 'True' }, { type: 'NetworkUnavailable', status: 'True' })?.warnings,
    ).toEqual({
      TargetNodeUnderDiskPressure: 'DiskPressure is True',
      TargetNodeUnavailableNetwork: 'NetworkUnavailable is True',
    })
    expect(of({ type: 'Ready', status: 'Unknown' }, { type: 'PIDPressure', status: 'True' })?.warnings).toEqual({
      TargetNodeInWarningState: 'Ready is Unknown, PIDPressure is True',
    })
  })
})

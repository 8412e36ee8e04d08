import { describe, expect, it } from 'vitest'

import { explainDisruption } from '../../../../workflows/chaos/disruption/explain.ts'

describe('the explanation of a Disruption', () => {
  const status = { injectionStatus: 'NotInjected', injectedTargetsCount: 0, desiredTargetsCount: 2 }
  const failed = { injectionStatus: 'NotInjected', injectorPodName: 'chaos-1', message: 'not injected: no eBPF' }

  it.each([
    ['nothing without a status', {}, {}],
    ['the counts', status, { phase: 'NotInjected', summary: '0 of 2 targets injected' }],
    [
      'the first chaos pod that reports an error',
      { ...status, targetInjections: { a: { 'disk-failure': failed }, b: { 'disk-failure': failed } } },
      {
        phase: 'NotInjected',
        summary:
          '0 of 2 targets injected: chaos pod chaos-1 has not injected disk-failure into a: no eBPF (and 1 more)',
      },
    ],
    [
      'the message alone if a projection has no counts',
      { injectionStatus: 'Injected', message: 'simulated' },
      { phase: 'Injected', summary: 'simulated' },
    ],
  ])('has %s', (_what, of, explanation) => {
    expect(explainDisruption({ status: of })).toEqual(explanation)
  })

  const metadata = { name: 'slow', namespace: 'shop', creationTimestamp: '2026-01-02T03:00:00Z' }
  const STAYS =
    'the object stays until you delete it, or until controller.expiredDisruptionGCDelay of the chaos configuration has passed, if set'
  const NOT_INJECTED = { injectionStatus: 'NotInjected', since: '2026-01-02T03:00:05Z', simulated: true }
  const INJECTED = { ...NOT_INJECTED, injectionStatus: 'Injected' }
  const STUCK = {
    ...failed,
    injectionStatus: 'IsStuckOnRemoval',
    message: 'no tc',
    since: '2026-01-02T03:00:05Z',
  }
  const DELETED = { deletionTimestamp: '2026-01-02T03:00:08Z' }
  const RELEASED = 'everything is undone; the object is released at 2026-01-02T03:00:30Z (finalizerDeletionDelay)'
  const over = (targets: Readonly<Record<string, object>>) => ({
    ...chosen(2, 0),
    injectionStatus: 'PreviouslyInjected',
    message: 'simulated: 2 of 2 targets have no process, so nothing is disturbed there',
    targetInjections: Object.fromEntries(
      Object.entries(targets).map(([name, one]) => [name, { 'network-disruption': one }]),
    ),
  })
  const spec = { selector: { app: 'y' }, count: 2 }
  const chosen = (selectedTargetsCount: number, ignoredTargetsCount: number) => ({
    ...status,
    targets: Array.from({ length: selectedTargetsCount }, (_, index) => `web-${index}`),
    selectedTargetsCount,
    ignoredTargetsCount,
  })

  it.each([
    [
      'without a matching pod has the selector and the correction',
      chosen(0, 0),
      spec,
      `no running pod in namespace "shop" matches the selector app=y; correct spec.selector in a new Disruption, or start such a pod (see kubectl get pods -n shop -l 'app=y')`,
    ],
    [
      'with static targeting that has chosen nothing yet has the selector, too',
      { targets: [], selectedTargetsCount: 0, ignoredTargetsCount: 0, desiredTargetsCount: 0 },
      { ...spec, staticTargeting: true },
      `no running pod in namespace "shop" matches the selector app=y; correct spec.selector in a new Disruption, or start such a pod (see kubectl get pods -n shop -l 'app=y')`,
    ],
    [
      'without a matching node names nodes',
      chosen(0, 0),
      { ...spec, level: 'node', filter: { annotations: { a: 'b' } } },
      `no ready node matches the selector app=y and spec.filter; correct spec.selector in a new Disruption, or start such a node (see kubectl get nodes -l 'app=y')`,
    ],
    [
      'whose matches belong to other Disruptions names them',
      chosen(0, 2),
      spec,
      '0 of 2 targets injected: all other matches are already targets of other Disruptions; wait for their end, or set spec.allowDisruptedTargets in a new Disruption',
    ],
    [
      'with fewer matches than its count has their number',
      chosen(1, 0),
      spec,
      '0 of 2 targets injected: only 1 running pod matches',
    ],
    [
      'whose chaos pod cannot be created has the reason',
      {
        ...chosen(1, 0),
        targetInjections: {
          'web-0': { 'disk-failure': { ...failed, message: 'no chaos pod: container other does not exist' } },
        },
      },
      spec,
      '0 of 2 targets injected: no chaos pod for disk-failure into web-0: container other does not exist',
    ],
    [
      'that is over and was never injected',
      { ...chosen(0, 0), injectionStatus: 'PreviouslyNotInjected' },
      spec,
      `the duration is over; no target was injected; ${STAYS}`,
    ],
    [
      'that is over and removed',
      over({ 'web-0': NOT_INJECTED, 'web-1': NOT_INJECTED }),
      { ...spec, duration: '5m' },
      `the duration is over since 2026-01-02T03:05:00Z; removed from 2 of 2 targets; ${STAYS}`,
    ],
    [
      'that is over and still in a target',
      over({
        'web-0': NOT_INJECTED,
        'web-1': STUCK,
      }),
      { ...spec, duration: '5m' },
      `the duration is over since 2026-01-02T03:05:00Z; removed from 1 of 2 targets: chaos pod chaos-1 could not remove network-disruption from web-1: no tc; ${STAYS}`,
    ],
    [
      'in deletion that is being undone',
      over({ 'web-0': NOT_INJECTED, 'web-1': INJECTED }),
      spec,
      'the changes to 1 of 2 targets are being undone',
      DELETED,
    ],
    [
      'in deletion with a chaos pod that cannot clean up',
      over({ 'web-0': STUCK }),
      spec,
      'the changes to 1 of 1 targets are being undone: chaos pod chaos-1 could not remove network-disruption from web-0: no tc',
      DELETED,
    ],
    [
      'in deletion that was never injected',
      { ...chosen(1, 0), injectionStatus: 'PreviouslyNotInjected' },
      spec,
      'the chaos pods are being deleted',
      DELETED,
    ],
    [
      'in deletion that is undone has the time of its release',
      { ...over({ 'web-0': NOT_INJECTED }), cleanedAt: '2026-01-02T03:00:10Z', message: RELEASED },
      spec,
      RELEASED,
      DELETED,
    ],
    [
      'in deletion before the first pass of the deletion has the counts',
      status,
      spec,
      '0 of 2 targets injected',
      DELETED,
    ],
  ])('%s', (...[, of, used, summary, deleted]: readonly [string, object, object, string, object?]) => {
    expect(explainDisruption({ metadata: { ...metadata, ...deleted }, spec: used, status: of }).summary).toBe(summary)
  })
})

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

  const metadata = { name: 'slow', namespace: 'shop' }
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
      'that is over has no reason',
      { ...chosen(0, 0), injectionStatus: 'PreviouslyNotInjected' },
      spec,
      '0 of 2 targets injected',
    ],
  ])('%s', (_what, of, used, summary) => {
    expect(explainDisruption({ metadata, spec: used, status: of }).summary).toBe(summary)
  })
})

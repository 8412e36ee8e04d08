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
})

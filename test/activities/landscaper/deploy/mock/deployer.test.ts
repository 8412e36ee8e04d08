import { describe, expect, it } from 'vitest'

import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { deployer } from '../../../../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'

const HEAD = { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' }
const failure = (phase: string) => ({
  error: { operation: 'Reconcile', reason: 'MockPhase', message: `the configuration requests phase ${phase}` },
})

const answerTo = (config: object) => {
  const spec = { config: { ...HEAD, ...config } }
  const item = storedAs(deployItemKind, { metadata: { name: 'item', uid: 'u' }, spec })
  return deployer.answer(item, deployer.parse(item))
}

describe('the result of a mock item', () => {
  it.each([
    ['nothing', {}, { phase: 'Succeeded' }],
    ['a phase to wait in', { initialPhase: 'Init' }, { phase: 'Init' }],
    ['a phase', { phase: 'Completing', initialPhase: 'Init' }, { phase: 'Completing' }],
    ['a failure', { phase: 'Failed' }, { phase: 'Failed', ...failure('Failed') }],
    ['a failed deletion', { phase: 'DeleteFailed' }, { phase: 'DeleteFailed', ...failure('DeleteFailed') }],
    ['an export', { export: {} }, { phase: 'Succeeded', exports: {} }],
    [
      'a provider status',
      { providerStatus: { apiVersion: 'v', kind: 'K' } },
      { phase: 'Succeeded', providerStatus: { apiVersion: 'v', kind: 'K' } },
    ],
  ])('that asks for %s', (_, config, answer) => {
    expect(answerTo(config)).toEqual(answer)
  })
})

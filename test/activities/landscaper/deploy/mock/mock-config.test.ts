import { describe, expect, it } from 'vitest'
import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { readMockConfig } from '../../../../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'

const HEAD = { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' }
const PHASES = 'Init, Progressing, Completing, Succeeded, Failed, InitDelete, Deleting, DeleteFailed'

const read = (config: unknown) =>
  readMockConfig(storedAs(deployItemKind, { metadata: { name: 'item' }, spec: { config } }))

describe('the configuration of a mock item', () => {
  it('is read unchanged', () => {
    const config = {
      ...HEAD,
      phase: 'Failed',
      initialPhase: 'Init',
      providerStatus: { apiVersion: 'v1', kind: 'K', a: 1 },
      export: { b: [1] },
    }
    expect(read(config)).toEqual(config)
    expect(read(HEAD)).toEqual(HEAD)
  })

  it.each([
    { phase: '' },
    { phase: null },
    { initialPhase: '' },
    { initialPhase: null },
    { providerStatus: null },
    { export: null },
    { phase: '', initialPhase: null, providerStatus: null, export: null, continuousReconcile: null },
  ])('lacks what is null, and empty phases: %j', (absent) => {
    expect(read({ ...HEAD, ...absent })).toEqual(HEAD)
  })

  it('keeps null and empty texts within its fields', () => {
    const config = {
      ...HEAD,
      providerStatus: { apiVersion: 'v1', kind: 'K', phase: null },
      export: { phase: '', b: null },
    }
    expect(read(config)).toEqual(config)
  })

  it.each([
    [undefined, ': found nothing', 'a ProviderConfiguration of mock.deployer.landscaper.gardener.cloud/v1alpha1'],
    [{ kind: HEAD.kind }, '.apiVersion: found nothing', HEAD.apiVersion],
    [{ ...HEAD, kind: 'canary' }, '.kind: found another text', HEAD.kind],
    [{ ...HEAD, phase: 'canary' }, '.phase: found another text', `one of ${PHASES}`],
    [{ ...HEAD, initialPhase: 7 }, '.initialPhase: found a number', `one of ${PHASES}`],
    [{ ...HEAD, providerStatus: ['canary'] }, '.providerStatus: found a list', 'a map'],
    [{ ...HEAD, providerStatus: { canary: 1 } }, '.providerStatus.apiVersion: found nothing', 'a text'],
    [
      { ...HEAD, providerStatus: { apiVersion: 'v1', kind: '' } },
      '.providerStatus.kind: found an empty text',
      'a text',
    ],
    [{ ...HEAD, export: 'canary' }, '.export: found another text', 'a map'],
    [{ ...HEAD, apiVersion: null }, '.apiVersion: found nothing', HEAD.apiVersion],
    [{ ...HEAD, kind: '' }, '.kind: found another text', HEAD.kind],
    [{ ...HEAD, providerStatus: '' }, '.providerStatus: found another text', 'a map'],
  ])('%j is refused with field, kind and expectation, without the value', (config, found, expected) => {
    const message = `spec.config${found}; expected ${expected}`
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    expect(() => read(config)).toThrow(
      expect.objectContaining({ reason: 'InvalidConfiguration', message, codes }) as Error,
    )
  })
})

// The mock deployer's configuration, read with an error for whoever wrote it. Source: spec/landscaper.md 4.8.

import type { KubeObject } from '../kube/client.ts'

const API_VERSION = 'mock.deployer.landscaper.gardener.cloud/v1alpha1'
const KIND = 'ProviderConfiguration'
const PHASES = ['Init', 'Progressing', 'Completing', 'Succeeded', 'Failed', 'InitDelete', 'Deleting', 'DeleteFailed']

export interface MockConfig {
  /** Forced phase of the item. */
  readonly phase?: string
  /** Phase to wait in; the item is then not finished by the deployer. */
  readonly initialPhase?: string
  readonly providerStatus?: Readonly<Record<string, unknown>>
  readonly export?: Readonly<Record<string, unknown>>
}

/** The item's `spec.config`, or what is wrong with it: field, found, expected. */
export function readMockConfig(object: KubeObject): MockConfig | { readonly problem: string } {
  const { config } = (object['spec'] ?? {}) as { config?: Readonly<Record<string, unknown>> }
  const problem = (field: string, found: unknown, expected: string) => ({
    problem: `deploy item ${object.metadata.name}: spec.config${field} is ${JSON.stringify(found) ?? 'absent'}; expected ${expected}`,
  })
  if (config === undefined) return problem('', undefined, `a ${KIND} of ${API_VERSION}`)
  if (config['apiVersion'] !== API_VERSION) return problem('.apiVersion', config['apiVersion'], API_VERSION)
  if (config['kind'] !== KIND) return problem('.kind', config['kind'], KIND)
  for (const field of ['phase', 'initialPhase']) {
    const value = config[field]
    if (value !== undefined && (typeof value !== 'string' || !PHASES.includes(value))) return problem(`.${field}`, value, `one of ${PHASES.join(', ')}`)
  }
  for (const field of ['providerStatus', 'export']) {
    const value = config[field]
    // The content is not quoted: exports may be secret.
    if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value))) return problem(`.${field}`, typeof value, 'a map')
  }
  return config as MockConfig
}

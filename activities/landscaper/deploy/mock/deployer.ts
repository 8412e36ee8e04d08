// The mock deployer: deploys nothing, and reports the result that its configuration specifies. Source: spec/landscaper.md 4.8.

import { createHash } from 'node:crypto'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { QuickAnswer, QuickDeployer } from '../run/deployer.ts'
import { FINAL_PHASES } from '../run/item-status.ts'
import { configurationProblem } from '../run/deploy-errors.ts'

export const deployer: QuickDeployer<MockConfig> = {
  type: 'landscaper.gardener.cloud/mock',
  name: 'mock',
  pace: 'quick',
  needsTarget: false,
  checkpoint: 'waiting in the phase that the configuration names',
  exportName: mockExportName,
  parse: readMockConfig,
  answer: (_, config) => answer(config),
}

/** Source: spec/landscaper.md 1.15. */
export function mockExportName({ metadata }: DeployItem): string {
  return `mock-export-${createHash('sha256').update(metadata.uid).digest('hex').slice(0, 10)}`
}

function answer({ phase: forced, initialPhase, providerStatus, export: exports }: MockConfig): QuickAnswer {
  const phase = forced ?? initialPhase ?? 'Succeeded'
  const isFailure = phase !== 'Succeeded' && FINAL_PHASES.includes(phase)
  const message = `the configuration requests phase ${phase}`
  return {
    phase,
    ...(isFailure && { error: { operation: 'Reconcile', reason: 'MockPhase', message } }),
    ...(providerStatus !== undefined && { providerStatus }),
    ...(exports !== undefined && { exports }),
  }
}

// Parses the mock deployer's configuration. Source: spec/landscaper.md 4.8.

const API_VERSION = 'mock.deployer.landscaper.gardener.cloud/v1alpha1'
const KIND = 'ProviderConfiguration'
const PHASES = ['Init', 'Progressing', 'Completing', 'Succeeded', 'Failed', 'InitDelete', 'Deleting', 'DeleteFailed']

export interface MockConfig {
  /** Forced phase of the item. */
  readonly phase?: string
  /** Phase to wait in; the deployer does not finish the item then. */
  readonly initialPhase?: string
  readonly providerStatus?: Readonly<Record<string, unknown>>
  readonly export?: Readonly<Record<string, unknown>>
}

/**
 * The item's `spec.config` without null values and empty phases. @throws DeployError with ERR_CONFIGURATION_PROBLEM that names field, found value and
 * expected value.
 */
export function readMockConfig(object: DeployItem): MockConfig {
  const config = withoutAbsent(object.spec.config)
  const wrong = firstMistake(config)
  if (wrong === undefined) return config ?? {}
  const { field, found, expected } = wrong
  const message = `spec.config${field}: found ${found}; expected ${expected}`
  throw configurationProblem('Reconcile', 'InvalidConfiguration', message)
}

type Fields = Readonly<Record<string, unknown>>

const PHASE_FIELDS: ReadonlySet<string> = new Set(['phase', 'initialPhase'])

// Templates render missing values as null, and missing phases as empty texts. Go reads both as absent.
function withoutAbsent(config: Fields | undefined): Fields | undefined {
  if (config === undefined) return undefined
  const isAbsent = ([name, value]: readonly [string, unknown]) =>
    value === null || (value === '' && PHASE_FIELDS.has(name))
  return Object.fromEntries(Object.entries(config).filter((field) => !isAbsent(field)))
}

interface Mistake {
  readonly field: string
  readonly found: string
  readonly expected: string
}

function firstMistake(config: Fields | undefined): Mistake | undefined {
  if (config === undefined) return { field: '', found: 'nothing', expected: `a ${KIND} of ${API_VERSION}` }
  return (
    notOneOf(config, 'apiVersion', [API_VERSION], true) ??
    notOneOf(config, 'kind', [KIND], true) ??
    notOneOf(config, 'phase', PHASES, false) ??
    notOneOf(config, 'initialPhase', PHASES, false) ??
    notMap(config, 'providerStatus') ??
    notTyped(config, 'providerStatus') ??
    notMap(config, 'export')
  )
}

function notOneOf(config: Fields, field: string, allowed: readonly string[], isRequired: boolean): Mistake | undefined {
  const value = config[field]
  if (value === undefined && !isRequired) return undefined
  if (typeof value === 'string' && allowed.includes(value)) return undefined
  return {
    field: `.${field}`,
    found: describe(value),
    expected: allowed.length === 1 ? (allowed[0] ?? '') : `one of ${allowed.join(', ')}`,
  }
}

function notMap(config: Fields, field: string): Mistake | undefined {
  const value = config[field]
  if (value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value))) return undefined
  return { field: `.${field}`, found: describe(value), expected: 'a map' }
}

// The API server accepts an embedded object only with both fields. Source: spec/landscaper.md 1.4 "providerStatus".
function notTyped(config: Fields, field: string): Mistake | undefined {
  const value = config[field] as Fields | undefined
  if (value === undefined) return undefined
  for (const name of ['apiVersion', 'kind']) {
    if (typeof value[name] === 'string' && value[name] !== '') continue
    const found = value[name] === '' ? 'an empty text' : describe(value[name])
    return { field: `.${field}.${name}`, found, expected: 'a text' }
  }
  return undefined
}

// Without the content, because configurations may contain secrets, also in wrong fields.
function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return 'another text'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

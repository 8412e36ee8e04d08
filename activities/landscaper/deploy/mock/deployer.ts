// The mock deployer: deploys nothing, and reports the result that its configuration specifies. Source: spec/landscaper.md 4.8.

import { createHash } from 'node:crypto'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { QuickAnswer, QuickDeployer } from '../run/deployer.ts'
import { FINAL_PHASES } from '../run/item-status.ts'
import { type MockConfig, readMockConfig } from './mock-config.ts'

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
  const message = `the configuration asks for phase ${phase}`
  return {
    phase,
    ...(isFailure && { error: { operation: 'Reconcile', reason: 'MockPhase', message } }),
    ...(providerStatus !== undefined && { providerStatus }),
    ...(exports !== undefined && { exports }),
  }
}

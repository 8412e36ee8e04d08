// The state that the steps of one pass over a backup share.
//
//   C1. The status of the backup is read at the start of the pass, and again after a command that changed it.

import type { BackupStatus as ToolStatus } from '../../../activities/foundationdb/database/backup-tools.ts'
import type { Step } from '../../kit/index.ts'
import { type BackupSettings, backupSettings } from '../model/backup-settings.ts'
import { progressStep, type StepProblem } from '../progress.ts'
import { type Address, addressOf, noDatabase } from '../observed-cluster.ts'
import { type BackupCalls, backupCalls } from './backup-calls.ts'
import type { BackupPass, ObservedDeployment } from './pass.ts'

export interface BackupContext {
  readonly pass: BackupPass
  readonly settings: BackupSettings
  readonly calls: BackupCalls
  /** With the changes of this pass. */
  deployment: ObservedDeployment | undefined
  /** Undefined: unknown. */
  details: ToolStatus | undefined
  /** C1. */
  isChanged: boolean
  hasChangedAgents: boolean
}

const CONTEXTS = new WeakMap<BackupPass, BackupContext>()

export function contextOf(pass: BackupPass): BackupContext {
  const found = CONTEXTS.get(pass)
  if (found !== undefined) return found
  const { metadata, spec } = pass.target
  const context: BackupContext = {
    pass,
    settings: backupSettings(metadata.name, spec),
    calls: pass.call(backupCalls),
    deployment: pass.state.deployment,
    details: undefined,
    isChanged: false,
    hasChangedAgents: false,
  }
  CONTEXTS.set(pass, context)
  return context
}

/** Undefined until the cluster has a database. */
export function databaseAddress({ pass }: BackupContext): Address | undefined {
  return addressOf(pass.state.cluster, pass.target.spec.customParameters)
}

export function backupStep(name: string, body: (context: BackupContext) => Promise<StepProblem>): Step<BackupPass> {
  return progressStep(name, async (pass) => await body(contextOf(pass)))
}

/** Runs a command that changes the backup. @returns the problem. */
export async function command(
  context: BackupContext,
  run: (address: Address) => Promise<{ readonly failure: { readonly message: string } } | { readonly value: unknown }>,
): Promise<StepProblem> {
  const address = databaseAddress(context)
  if (address === undefined) return noDatabase(context.settings.clusterName)
  const result = await run(address)
  if ('failure' in result) return result.failure.message
  context.isChanged = true
  return undefined
}

// The state that the steps of one pass over a backup share.
//
//   C1. The status of the backup is read at the start of the pass, and again after a command that changed it.

import type { BackupStatus as ToolStatus } from '../../../activities/foundationdb/database/backup-tools.ts'
import { action, again, done, type Outcome, retryLater, type Step } from '../../kit/index.ts'
import { type BackupSettings, backupSettings } from '../model/backup-settings.ts'
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
  }
  CONTEXTS.set(pass, context)
  return context
}

export type Address = { readonly connectionString: string; readonly version: string }

/** Undefined until the cluster has a database. */
export function databaseAddress({ pass }: BackupContext): Address | undefined {
  const { cluster } = pass.state
  const { connectionString = '', runningVersion = '' } = cluster?.status ?? {}
  if (cluster === undefined || connectionString === '') return undefined
  return { connectionString, version: runningVersion === '' ? cluster.spec.version : runningVersion }
}

/** The reason why a step did not finish; undefined: it has nothing more to do. */
export type StepProblem = string | undefined

export function backupStep(name: string, body: (context: BackupContext) => Promise<StepProblem>): Step<BackupPass> {
  return action<BackupPass>(name, async (pass) => {
    const problem = await body(contextOf(pass))
    return problem === undefined ? done : retryLater(name, problem)
  })
}

/** Runs a command that changes the backup. @returns the problem. */
export async function command(
  context: BackupContext,
  run: (address: Address) => Promise<{ readonly failure: { readonly message: string } } | { readonly value: unknown }>,
): Promise<StepProblem> {
  const address = databaseAddress(context)
  if (address === undefined) return noDatabase(context)
  const result = await run(address)
  if ('failure' in result) return result.failure.message
  context.isChanged = true
  return undefined
}

export function noDatabase({ settings }: BackupContext): string {
  return `FoundationDBCluster "${settings.clusterName}" has no connection string; wait until it is available, or create it`
}

const RECHECK_MS = 5000

/** Another pass observes the effects of this one. */
export function recheck(isReconciled: boolean): Outcome {
  return isReconciled ? done : again(RECHECK_MS)
}

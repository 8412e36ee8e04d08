// Steps 1 and 7. Observe the agents and the backup, and report them in the status. Source: spec/foundationdb.md 2.27.

import { action } from '../../../kit/index.ts'
import type { BackupStatus } from '../kind.ts'
import { type BackupContext, backupStep, contextOf, databaseAddress, recheck, type StepProblem } from '../context.ts'
import { agentCount, isDeploymentConfigured, isManaged, needsOf } from '../needs.ts'
import type { BackupPass } from '../pass.ts'

export const updateBackupStatusFirst = backupStep('UpdateBackupStatus', async (context) => {
  const { settings, pass } = context
  const { tag = settings.tag } = pass.target.status?.backupDetails ?? {}
  if (tag !== settings.tag) {
    return `spec.tag: found "${settings.tag}"; expected "${tag}", because a backup keeps its tag: create another FoundationDBBackup`
  }
  const problem = await readDetails(context)
  updateStatus(context)
  return problem
})

export const updateBackupStatusLast = action<BackupPass>('UpdateBackupStatusAgain', async (pass) => {
  const context = contextOf(pass)
  if (context.isChanged) await readDetails(context)
  return recheck(updateStatus(context))
})

async function readDetails(context: BackupContext): Promise<StepProblem> {
  const address = databaseAddress(context)
  if (address === undefined || !isManaged(context)) return undefined
  const result = await context.calls.readBackupStatus({ ...address, tag: context.settings.tag })
  if ('failure' in result) return result.failure.message
  context.details = result.value
  return undefined
}

/** @returns whether the generation is reconciled. */
function updateStatus(context: BackupContext): boolean {
  const { pass, details, deployment } = context
  const { generation } = pass.target.metadata
  const needs = needsOf(context)
  const reconciled = needs.length === 0 ? generation : pass.target.status?.generations?.reconciled
  const status: BackupStatus = {
    agentCount: agentCount(deployment),
    deploymentConfigured: isDeploymentConfigured(context),
    ...(details !== undefined && { backupDetails: detailsOf(details) }),
    generations: {
      ...(reconciled !== undefined && { reconciled }),
      ...Object.fromEntries(needs.map((name) => [name, generation])),
    },
  }
  Object.assign(pass.status as Record<string, unknown>, status)
  return needs.length === 0
}

function detailsOf(details: NonNullable<BackupContext['details']>): NonNullable<BackupStatus['backupDetails']> {
  return {
    ...(details.url !== undefined && { url: details.url }),
    running: details.isRunning,
    paused: details.isPaused,
    ...(details.snapshotPeriodSeconds !== undefined && { snapshotTime: details.snapshotPeriodSeconds }),
    restorable: details.isRestorable,
    tag: details.tag,
  }
}

// Steps 1 and 7. Observe the agents and the backup, and report them in the status. Source: spec/foundationdb.md 2.27.

import { problemText } from '../../../kit/index.ts'
import type { BackupGeneration } from '../../contract.ts'
import { backupDeploymentName } from '../../model/process-group-id.ts'
import type { StepProblem } from '../../progress.ts'
import { type BackupContext, backupStep, databaseAddress } from '../context.ts'
import type { BackupStatus } from '../kind.ts'
import type { BackupPass } from '../pass.ts'
import { agentCount, isDeploymentConfigured, isManaged, needsOf } from '../needs.ts'
import { backupProblems } from '../rules/spec.ts'

const SOON_MS = 1000
const RECHECK_MS = 5000
const RESTORABLE_MS = 10_000
/** How often the latest restorable point of a running backup is read. */
const ADVANCE_MS = 60_000

export const updateBackupStatusFirst = backupStep('UpdateBackupStatus', async (context) => {
  const { settings, pass } = context
  // A cluster may have no webhook.
  const problems = backupProblems(pass.target)
  if (problems.length > 0) return problems.map(problemText).join('; ')
  const { tag = settings.tag } = pass.target.status?.backupDetails ?? {}
  if (tag !== settings.tag) {
    return `spec.tag: found "${settings.tag}"; expected "${tag}", because a backup keeps its tag: create another FoundationDBBackup`
  }
  const problem = await readDetails(context)
  updateStatus(context)
  return problem
})

/** Another pass observes the effects of this one. */
export const updateBackupStatusLast = backupStep('UpdateBackupStatus (again)', async (context) => {
  const problem = context.isChanged ? await readDetails(context) : undefined
  const needs = updateStatus(context)
  if (problem !== undefined) return problem
  if (needs.length === 0) return nextReading(context)
  return {
    message: needs.map((need) => needText(context, need)).join('; '),
    againMs: hasActed(context) ? SOON_MS : RECHECK_MS,
  }
})

/** The effects of a pass are soon visible. */
function hasActed({ isChanged, hasChangedAgents }: BackupContext): boolean {
  return isChanged || hasChangedAgents
}

/** No event reports that a running backup can be restored, or to which point. */
function nextReading({ details, deployment }: BackupContext): StepProblem {
  if (details?.isRunning !== true || details.isPaused) return undefined
  if (details.restorableVersion !== undefined) return { againMs: ADVANCE_MS }
  return details.isRestorable || agentCount(deployment) === 0 ? undefined : { againMs: RESTORABLE_MS }
}

function needText({ settings, deployment }: BackupContext, need: BackupGeneration): string {
  if (need !== 'needsBackupAgentUpdate') return `the backup still has: ${need}`
  const name = backupDeploymentName(settings.name)
  return `Deployment "${name}" has ${agentCount(deployment)} of ${settings.agentCount} agents ready; check its Pods`
}

async function readDetails(context: BackupContext): Promise<StepProblem> {
  const address = databaseAddress(context)
  if (address === undefined || !isManaged(context)) return undefined
  const result = await context.calls.readBackupStatus({ ...address, tag: context.settings.tag })
  if ('failure' in result) return result.failure.message
  context.details = result.value
  return undefined
}

/** @returns the changes that the generation waits for. */
function updateStatus(context: BackupContext): readonly BackupGeneration[] {
  const { pass, details, deployment } = context
  const { generation } = pass.target.metadata
  const needs = needsOf(context)
  const reconciled = needs.length === 0 ? generation : pass.target.status?.generations?.reconciled
  const status: BackupStatus = {
    agentCount: agentCount(deployment),
    deploymentConfigured: isDeploymentConfigured(context),
    ...(details !== undefined && { backupDetails: detailsOf(pass, details) }),
    generations: {
      ...(reconciled !== undefined && { reconciled }),
      ...Object.fromEntries(needs.map((name) => [name, generation])),
    },
  }
  Object.assign(pass.status as Record<string, unknown>, status)
  return needs
}

type Details = NonNullable<BackupStatus['backupDetails']>

function detailsOf(pass: BackupPass, details: NonNullable<BackupContext['details']>): Details {
  return {
    ...(details.url !== undefined && { url: details.url }),
    running: details.isRunning,
    paused: details.isPaused,
    ...(details.snapshotPeriodSeconds !== undefined && { snapshotTime: details.snapshotPeriodSeconds }),
    restorable: details.isRestorable,
    ...restorablePoint(pass, details.restorableVersion),
    tag: details.tag,
  }
}

function restorablePoint({ target, now }: BackupPass, version: number | undefined): Details {
  if (version === undefined) return {}
  const before = target.status?.backupDetails ?? {}
  const { lastRestorableVersionUpdateTime: since = now.toISOString() } =
    before.lastRestorableVersion === version ? before : {}
  return { lastRestorableVersion: version, lastRestorableVersionUpdateTime: since }
}

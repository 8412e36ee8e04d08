// Step 20. Restarts the processes whose command line is outdated. An upgrade to another protocol restarts all processes of the database at once, after the
// controllers of all Kubernetes clusters have registered theirs. Source: seeds/foundationdb-operator-technical-design.txt BounceProcesses;
// spec/foundationdb.md 2.20, 4.16.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { parseAddress, withoutFlags } from '../../database/process-address.ts'
import { bounceProblem } from '../../database/safety.ts'
import { isProtocolCompatible } from '../../model/version.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  type ClusterContext,
  databaseAddress,
  normalEvent,
  noteRecovery,
  processGroupsIn,
  readDatabase,
} from '../context.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { lockInput, takeLock, usedLock } from '../lock.ts'
import { conditionSince, hasCondition, isMarked } from '../process-groups.ts'
import { needsGeneration } from '../reconciliation-check.ts'
import { failWith, SHORT_DELAY_MS, stopFor, type StepResult, withEvent } from '../requeue.ts'

const LEAST_DELAY_MS = 15_000

export const bounceProcesses = clusterStep('BounceProcesses', async (context) => {
  const groups = groupsToBounce(context)
  const address = databaseAddress(context)
  if (groups.length === 0 || address === undefined) return undefined
  const reading = await readDatabase(context)
  if (!('status' in reading)) return stopFor('the database cannot be read; no process is restarted')
  const { status } = reading
  const missing = groups.find((group) => !isReported(status, group) && !isIgnored(context, group))
  if (missing !== undefined) return failWith(`could not find address for process group ${missing.processGroupID}`)
  const present = groups.filter((group) => isReported(status, group))
  if (present.some((group) => hasCondition(group, 'IncorrectConfigMap') || hasCondition(group, 'SidecarUnreachable')))
    return stopFor('Waiting for config map to sync to all pods')
  const blocked = mayNotBounce(context, status, present)
  if (blocked !== undefined) return blocked
  const { version } = context.settings
  return isProtocolCompatible(address.version, version)
    ? await bounceOwn(context, status, present)
    : await bounceAll(context, status)
})

function groupsToBounce(context: ClusterContext): readonly ProcessGroupStatus[] {
  const ignored = new Set(context.settings.spec.buggify?.ignoreDuringRestart ?? [])
  return processGroupsIn(context).filter(
    (group) => hasCondition(group, 'IncorrectCommandLine') && !isMarked(group) && !ignored.has(group.processGroupID),
  )
}

function isReported({ processes }: DatabaseStatus, { processGroupID }: ProcessGroupStatus): boolean {
  return processes.some(({ locality }) => locality['instance_id'] === processGroupID)
}

/** Whether the policy permits a restart without the missing process. */
function isIgnored({ settings, now }: ClusterContext, group: ProcessGroupStatus): boolean {
  const { missingProcessPolicy, ignoreMissingProcessesSeconds } = settings.automation
  if (missingProcessPolicy !== 'ignore') return false
  if (hasCondition(group, 'PodPending') || hasCondition(group, 'ResourcesTerminating')) return true
  const since = conditionSince(group, 'MissingProcesses')
  return since !== undefined && now.seconds - since >= ignoreMissingProcessesSeconds
}

function mayNotBounce(
  context: ClusterContext,
  status: DatabaseStatus,
  groups: readonly ProcessGroupStatus[],
): StepResult {
  const { settings } = context
  const names = groups.map(({ processGroupID }) => processGroupID).join(', ')
  if (!settings.automation.killProcesses) {
    needsGeneration(context, 'needsBounce')
    const message = `spec.automationOptions.killProcesses is false; processes need a restart: ${names}`
    return withEvent('NeedsBounce', stopFor(message))
  }
  const problem = bounceProblem(status, settings.minimumUptimeSeconds)
  if (problem === undefined) return undefined
  needsGeneration(context, 'needsBounce')
  const delayMs = Math.max(LEAST_DELAY_MS, (problem.waitSeconds ?? 0) * 1000)
  // Without the current uptime, so that the text is the same in each pass.
  const message =
    problem.waitSeconds === undefined
      ? problem.problem
      : `processes need a restart, but not all have run for ${settings.minimumUptimeSeconds} s`
  return withEvent('NeedsBounce', stopFor(message, delayMs))
}

async function bounceOwn(
  context: ClusterContext,
  status: DatabaseStatus,
  groups: readonly ProcessGroupStatus[],
): Promise<StepResult> {
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  const ids = new Set(groups.map(({ processGroupID }) => processGroupID))
  const own = status.processes.filter(({ locality }) => ids.has(locality['instance_id'] ?? ''))
  const addresses = killAddresses(own)
  await normalEvent(context, 'BouncingProcesses', `Bouncing processes: ${addresses.join(', ')}`)
  return await kill(context, addresses, false)
}

/** Source: spec/foundationdb.md 2.20, 3.1: the list of pending upgrades. */
async function bounceAll(context: ClusterContext, status: DatabaseStatus): Promise<StepResult> {
  const address = databaseAddress(context)
  if (address === undefined) return undefined
  if (!status.isAvailable) return upgradeWaits(context, 'the database is unavailable')
  const outdated = withoutBinary(context, status)
  if (outdated.length > 0) return upgradeWaits(context, `Pods have no binary of this version: ${outdated.join(', ')}`)
  const { lock, version: target } = context.settings
  if (lock.isUsed) {
    const processGroups = processGroupsIn(context).map(({ processGroupID }) => processGroupID)
    const call = { ...address, ...lockInput(context), target }
    const added = await context.calls.addPendingUpgrades({ ...call, processGroups })
    if ('failure' in added) return failWith(added.failure.message)
    const blocked = await takeLock(context)
    if (blocked !== undefined) return blocked
    const pending = await context.calls.readPendingUpgrades(call)
    if ('failure' in pending) return failWith(pending.failure.message)
    const unprepared = unpreparedProcesses(status, new Set(pending.value))
    if (unprepared.length > 0) return upgradeWaits(context, `processes are not prepared: ${unprepared.join(', ')}`)
    const cleared = await context.calls.clearPendingUpgrades(call)
    if ('failure' in cleared) return failWith(cleared.failure.message)
  }
  const addresses = killAddresses(status.processes)
  await normalEvent(
    context,
    'BouncingProcesses',
    `Bouncing all processes for version ${target}: ${addresses.join(', ')}`,
  )
  return await kill(context, addresses, true)
}

/**
 * The process groups whose processes would restart with the running version, which could not join the others. An update of the sidecars that ended early
 * leaves such ones.
 */
function withoutBinary(context: ClusterContext, status: DatabaseStatus): readonly string[] {
  return processGroupsIn(context)
    .filter((group) => !isMarked(group) && isReported(status, group) && !hasCondition(group, 'IncorrectCommandLine'))
    .map(({ processGroupID }) => processGroupID)
}

function unpreparedProcesses({ processes }: DatabaseStatus, prepared: ReadonlySet<string>): readonly string[] {
  return processes
    .filter(({ processClass }) => processClass !== 'test' && processClass !== 'tester')
    .map(({ locality, address }) => locality['instance_id'] ?? address)
    .filter((id) => !prepared.has(id))
    .sort()
}

function upgradeWaits({ settings }: ClusterContext, reason: string): StepResult {
  return withEvent('UpgradeRequeued', stopFor(`the upgrade to ${settings.version} waits: ${reason}`))
}

async function kill(context: ClusterContext, addresses: readonly string[], isUpgrade: boolean): Promise<StepResult> {
  const address = databaseAddress(context)
  if (address === undefined) return undefined
  const result = await context.calls.kill({ ...address, ...usedLock(context), addresses, isUpgrade })
  if ('failure' in result) return failWith(result.failure.message)
  await noteRecovery(context)
  return stopFor('processes were restarted; their state is read again', SHORT_DELAY_MS)
}

/** Each once and without flags, as `kill` needs them. */
function killAddresses(processes: DatabaseStatus['processes']): readonly string[] {
  const all = processes.flatMap(({ address }) => {
    const parsed = parseAddress(address)
    return parsed === undefined ? [] : [withoutFlags(parsed)]
  })
  return [...new Set(all)].sort()
}

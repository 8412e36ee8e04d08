// Step 23. Deletes the objects of removed process groups, one after the other: Pod, volume claim, Service. Then lifts the exclusion. Source:
// seeds/foundationdb-operator-technical-design.txt RemovePods; spec/foundationdb.md 2.23, 4.5, 8.3.
//
//   P1. Nothing is deleted before the exclusion is verified, and nothing of a process group with a coordinator.
//   P2. Each process group proceeds as far as it can; a stuck process group does not delay others.
//   P3. No Pod is deleted while the database lacks fault tolerance, unless the spec skips its exclusion.
//   P4. One zone per pass begins its removal; the next one after `waitBetweenRemovalsSeconds`.
//   P5. A complete exclusion is saved before the deletion: a pass that ends early leaves the database without a report of the process, and without the
//       exclusion once it is lifted.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { ISOLATE_ANNOTATION } from '../../contract.ts'
import { exclusionState, faultToleranceProblem, inclusionProblem } from '../../database/safety.ts'
import { podName, volumeClaimName } from '../../model/process-group-id.ts'
import { clusterStep, type Attempt } from '../cluster-step.ts'
import {
  changeProcessGroups,
  type ClusterContext,
  databaseAddress,
  normalEvent,
  processGroupsIn,
  readDatabase,
} from '../context.ts'
import { coordinatorCheck } from '../coordinator-rules.ts'
import { exclusionTargets, hostsOf } from '../exclusion-targets.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { takeLock, usedLock } from '../lock.ts'
import { isTerminating } from '../observed.ts'
import { conditionSince, excluded, hasPassed, isExcluded, isMarked } from '../process-groups.ts'
import { recoveringDelay, settlingDelay } from '../recovery-delay.ts'
import { continueWith, stopFor, type StepResult, USUAL_DELAY_MS } from '../requeue.ts'

const INCLUDE_DELAY_MS = 60_000

export const removePods = clusterStep('RemovePods', async (context, attempt) => {
  const groups = processGroupsIn(context).filter(isMarked)
  if (groups.length === 0) return undefined
  const reading = await readDatabase(context)
  const status = 'status' in reading ? reading.status : undefined
  // P1
  const isCoordinator = coordinatorCheck(context, status)
  const others = groups.filter((group) => !isCoordinator(group))
  const verified = status === undefined ? [] : await verifyExclusions(context, status, others)
  const isRemovable = (group: ProcessGroupStatus) =>
    group.exclusionSkipped === true || verified.includes(group.processGroupID)
  await saveExclusions(context, verified)
  const removable = others.filter((group) => isRemovable(group) && !isKept(context, group))
  const problem =
    status === undefined ? undefined : faultToleranceProblem(status, context.settings.spec.databaseConfiguration ?? {})
  // P3
  const isAllowed = (group: ProcessGroupStatus) => problem === undefined || group.exclusionSkipped === true
  await deleteObjects(context, removable.filter(isAllowed), attempt)
  // P5
  const isLifted = (group: ProcessGroupStatus) => status?.isAvailable === true && isExcluded(group)
  const gone = others.filter((group) => (removable.includes(group) || isLifted(group)) && !hasObjects(context, group))
  const blocked = gone.length > 0 ? await includeAndForget(context, status, gone) : undefined
  if (blocked !== undefined) return blocked
  const left = groups.filter((group) => !gone.includes(group))
  if (left.length === 0) return undefined
  const texts = left.map((group) => {
    const reason = isCoordinator(group) ? 'it is a coordinator' : leftReason(context, group, isRemovable(group))
    return reason === undefined ? group.processGroupID : `${group.processGroupID} (${reason})`
  })
  const reason = problem === undefined ? '' : `, because ${problem}`
  return stopFor(
    `Waiting for the removal of process groups: ${texts.join(', ')}${reason}`,
    removalDelay(context, left, problem === undefined ? undefined : status),
  )
})

/** Why the process group still exists; undefined if its deletion has not begun. */
function leftReason(context: ClusterContext, group: ProcessGroupStatus, isRemovable: boolean): string | undefined {
  if (!isRemovable) return 'its exclusion is not complete'
  if (isKept(context, group)) return 'a user keeps its Pod'
  const object = firstObject(context, group)
  return object !== undefined && isTerminating(object)
    ? `${object.kind} ${object.metadata.name} is terminating`
    : undefined
}

const NEW_SECONDS = 60
const NEW_DELAY_MS = 3000

/** @param recovering the database, if the removal waits for it. */
function removalDelay(
  { now }: ClusterContext,
  groups: readonly ProcessGroupStatus[],
  recovering: DatabaseStatus | undefined,
): number {
  if (recovering !== undefined) return recoveringDelay(recovering)
  const isNew = groups.some(({ removalTimestamp = '' }) => !hasPassed(removalTimestamp, NEW_SECONDS, now))
  return isNew ? NEW_DELAY_MS : USUAL_DELAY_MS
}

/** P1. The IDs of process groups whose processes hold nothing. A process that is not reported is verified by a blocking exclusion. */
async function verifyExclusions(
  context: ClusterContext,
  status: DatabaseStatus,
  groups: readonly ProcessGroupStatus[],
): Promise<readonly string[]> {
  if (!status.isAvailable) return []
  const states = groups
    .filter((group) => group.exclusionSkipped !== true)
    .map((group) => ({ group, state: exclusionState(status, group.processGroupID, hostsOf(group)) }))
  const idle = states.flatMap(({ state, group }) => (state === 'excluded' ? [group] : []))
  // A process that is not reported may still hold the only copy of some data: the database itself must confirm.
  const unreported = states.flatMap(({ state, group }) => {
    const targets = exclusionTargets(context, [group])
    const isListed = targets.length > 0 && targets.every((one) => status.exclusions.includes(one))
    return state === 'unreported' && isListed ? [group] : []
  })
  // P2. Data that is lost blocks the confirmation of its processes only.
  return [...(await confirmed(context, idle)), ...(await confirmed(context, unreported))]
}

async function confirmed(context: ClusterContext, groups: readonly ProcessGroupStatus[]): Promise<readonly string[]> {
  const idsOf = (some: readonly ProcessGroupStatus[]) => some.map(({ processGroupID }) => processGroupID)
  const known = idsOf(groups.filter(isExcluded))
  const unknown = groups.filter((group) => !isExcluded(group))
  const targets = exclusionTargets(context, unknown)
  const address = databaseAddress(context)
  if (targets.length === 0 || address === undefined) return known
  const result = await context.calls.exclude({ ...address, targets, waits: true })
  const isComplete = 'value' in result && result.value.every(({ state }) => state !== 'in progress')
  return isComplete ? [...known, ...idsOf(unknown)] : known
}

/** P5 */
async function saveExclusions(context: ClusterContext, verified: readonly string[]): Promise<void> {
  const isNew = (group: ProcessGroupStatus) => verified.includes(group.processGroupID) && !isExcluded(group)
  if (!processGroupsIn(context).some(isNew)) return
  changeProcessGroups(context, (group) => (isNew(group) ? excluded(group, context.now) : group))
  await context.pass.save()
}

/** Whether a user keeps the objects of the process group. */
function isKept({ settings, pods }: ClusterContext, { processGroupID }: ProcessGroupStatus): boolean {
  if ((settings.spec.buggify?.blockRemoval ?? []).includes(processGroupID)) return true
  const name = podName(settings.name, processGroupID)
  return pods.some(({ metadata }) => metadata.name === name && metadata.annotations?.[ISOLATE_ANNOTATION] === 'true')
}

/** P2: the first of Pod, claim and Service that still exists. */
function firstObject({ settings, pods, claims, services }: ClusterContext, { processGroupID }: ProcessGroupStatus) {
  const name = podName(settings.name, processGroupID)
  return (
    pods.find(({ metadata }) => metadata.name === name) ??
    claims.find(({ metadata }) => metadata.name === volumeClaimName(settings.name, processGroupID)) ??
    services.find(({ metadata }) => metadata.name === name)
  )
}

function hasObjects(context: ClusterContext, group: ProcessGroupStatus): boolean {
  return firstObject(context, group) !== undefined
}

async function deleteObjects(
  context: ClusterContext,
  groups: readonly ProcessGroupStatus[],
  attempt: Attempt,
): Promise<void> {
  const zones = recentZones(context)
  const removed: string[] = []
  for (const group of groups) {
    const object = firstObject(context, group)
    if (object === undefined || isTerminating(object)) continue
    // P4
    if (object.kind === 'Pod' && context.settings.automation.removalMode === 'Zone') {
      if (zones.size > 0 && !zones.has(group.faultDomain ?? '')) continue
      zones.add(group.faultDomain ?? '')
    }
    if ((await attempt(() => context.pass.act.remove(object))) === undefined) removed.push(group.processGroupID)
  }
  if (removed.length > 0) await normalEvent(context, 'RemovingProcesses', `Removing processes: ${removed.join(', ')}`)
}

/** P4. The zones whose removal began a short time ago. */
function recentZones(context: ClusterContext): Set<string> {
  const { waitBetweenRemovalsSeconds } = context.settings.automation
  const recent = processGroupsIn(context).filter((group) => {
    const since = isMarked(group) ? conditionSince(group, 'ResourcesTerminating') : undefined
    return since !== undefined && context.now.seconds - since < waitBetweenRemovalsSeconds
  })
  return new Set(recent.map(({ faultDomain = '' }) => faultDomain))
}

/** Lifts exclusions and removes the process groups from the status. */
async function includeAndForget(
  context: ClusterContext,
  status: DatabaseStatus | undefined,
  gone: readonly ProcessGroupStatus[],
): Promise<StepResult> {
  const targets = exclusionTargets(context, gone).filter((target) => status?.exclusions.includes(target) === true)
  const address = databaseAddress(context)
  if (targets.length > 0 && address !== undefined) {
    if (status === undefined)
      return continueWith('the database cannot be read; no exclusion is lifted', INCLUDE_DELAY_MS)
    const problem = inclusionProblem(status, context.waits.include)
    if (problem !== undefined)
      return continueWith(
        `exclusions wait to be lifted: ${problem}`,
        settlingDelay(status, context.waits.include, INCLUDE_DELAY_MS),
      )
    const blocked = await takeLock(context)
    if (blocked !== undefined) return blocked
    await normalEvent(context, 'IncludingProcesses', `Including ${targets.join(', ')}`)
    const result = await context.calls.include({ ...address, ...usedLock(context), targets })
    if ('failure' in result) return continueWith(result.failure.message, INCLUDE_DELAY_MS)
  }
  const ids = new Set(gone.map(({ processGroupID }) => processGroupID))
  changeProcessGroups(context, (group) => (ids.has(group.processGroupID) ? undefined : group))
  await context.pass.save()
  return undefined
}

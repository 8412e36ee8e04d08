// Step 18. Excludes the processes of process groups that are to be removed; does not wait until their data has moved. Source:
// seeds/foundationdb-operator-technical-design.txt ExcludeInstances; spec/foundationdb.md 2.18, 8.3.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { exclusionProblem, faultToleranceProblem } from '../../database/safety.ts'
import { processCounts, redundancyOf } from '../../model/process-counts.ts'
import { isTransactionSystem, type ProcessClass } from '../../contract.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  changeProcessGroups,
  type ClusterContext,
  databaseAddress,
  normalEvent,
  noteRecovery,
  processGroupsIn,
  readDatabase,
} from '../context.ts'
import { eagerDelay } from '../eager-delay.ts'
import { exclusionTargets } from '../exclusion-targets.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { takeLock, usedLock } from '../lock.ts'
import { conditionSince, hasCondition, isExcluded, isMarked, withoutExclusion } from '../process-groups.ts'
import { settlingDelay } from '../recovery-delay.ts'
import { continueWith, failWith, stopFor, USUAL_DELAY_MS } from '../requeue.ts'

export const excludeInstances = clusterStep('ExcludeInstances', async (context) => {
  const address = databaseAddress(context)
  const candidates = processGroupsIn(context).filter((group) => isMarked(group) && !isExcluded(group))
  if (address === undefined || candidates.length === 0) return undefined
  const reading = await readDatabase(context)
  if (!('status' in reading)) return continueWith('the database cannot be read; no process is excluded')
  const { status } = reading
  skipWithoutAddress(context, status, candidates)
  const waiting = candidates.filter(
    (group) => !exclusionTargets(context, [group]).every((one) => status.exclusions.includes(one)),
  )
  if (waiting.length === 0) return undefined
  const allowed = allowedGroups(context, waiting, status)
  if (allowed.length === 0) {
    const delayMs = eagerDelay(context, ['MissingProcesses', 'MissingPod'], USUAL_DELAY_MS)
    return stopFor('waiting for missing processes before processes are excluded', delayMs)
  }
  const problem = exclusionProblem(status, context.waits.exclude)
  if (problem !== undefined)
    return stopFor(`processes wait for their exclusion: ${problem}`, settlingDelay(status, context.waits.exclude))
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  const targets = exclusionTargets(context, allowed)
  if (targets.length === 0) return undefined
  await normalEvent(context, 'ExcludingProcesses', `Excluding ${targets.join(', ')}`)
  const result = await context.calls.exclude({ ...address, ...usedLock(context), targets, waits: false })
  if ('failure' in result) return failWith(result.failure.message)
  await noteRecovery(context)
  return undefined
})

/**
 * Skips the exclusion of process groups that never had an address, where exclusions need one. Their processes hold nothing, or the database misses it already
 * and reports less fault tolerance. Source: spec/foundationdb.md 2.6.
 */
function skipWithoutAddress(
  context: ClusterContext,
  status: DatabaseStatus,
  candidates: readonly ProcessGroupStatus[],
): void {
  const configuration = context.settings.spec.databaseConfiguration ?? {}
  const ids = new Set(
    candidates
      .filter((group) => exclusionTargets(context, [group]).length === 0)
      .map(({ processGroupID }) => processGroupID),
  )
  if (ids.size === 0 || faultToleranceProblem(status, configuration) !== undefined) return
  changeProcessGroups(context, (group) => (ids.has(group.processGroupID) ? withoutExclusion(group) : group))
}

/** The process groups that the policy permits to exclude now. */
function allowedGroups(
  context: ClusterContext,
  waiting: readonly ProcessGroupStatus[],
  status: DatabaseStatus,
): readonly ProcessGroupStatus[] {
  const groups = processGroupsIn(context)
  if (context.settings.automation.exclusionPolicy !== 'budget') {
    const isMissing = (group: ProcessGroupStatus) =>
      !isMarked(group) && (hasCondition(group, 'MissingProcesses') || hasCondition(group, 'MissingPod'))
    return groups.some(isMissing) ? [] : waiting
  }
  const classes = [...new Set(waiting.map(({ processClass = '' }) => processClass))]
  return classes.flatMap((processClass) => {
    const own = waiting.filter((group) => group.processClass === processClass)
    const budget = exclusionBudget(context, processClass, status)
    if (isTransactionSystem(processClass)) return budget >= own.length ? own : []
    return own.slice(0, budget)
  })
}

const MISSING_SECONDS = 300

/** How many process groups of the class may be excluded now. */
function exclusionBudget(context: ClusterContext, processClass: string, status: DatabaseStatus): number {
  const own = processGroupsIn(context).filter((group) => group.processClass === processClass)
  const idsOf = (isOut: boolean) =>
    new Set(
      status.processes.filter((one) => one.isExcluded === isOut).map(({ locality }) => locality['instance_id'] ?? ''),
    )
  const [reported, leaving] = [idsOf(false), idsOf(true)]
  const isNewlyMissing = (group: ProcessGroupStatus) => {
    const since = conditionSince(group, 'MissingProcesses')
    return since !== undefined && context.now.seconds - since < MISSING_SECONDS
  }
  if (own.some(isNewlyMissing)) return 0
  const valid = own.filter(({ processGroupID }) => reported.has(processGroupID)).length
  const desired = processCounts(context.settings)[processClass as ProcessClass] ?? 0
  const ongoing = own.filter((group) => !isExcluded(group) && leaving.has(group.processGroupID)).length
  return budgetOf({
    valid,
    desired,
    ongoing,
    faultTolerance: redundancyOf(context.settings.spec.databaseConfiguration ?? {}).faultTolerance,
  })
}

/** Source: spec/foundationdb.md 2.18, F32. */
export function budgetOf({
  valid,
  desired,
  ongoing,
  faultTolerance,
}: {
  readonly valid: number
  readonly desired: number
  readonly ongoing: number
  readonly faultTolerance: number
}): number {
  return Math.max(0, valid + faultTolerance - desired - ongoing)
}

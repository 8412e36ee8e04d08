// Step 6. Marks process groups that have failed for a long time, if automatic replacements are enabled. Source:
// seeds/foundationdb-operator-technical-design.txt ReplaceFailedPods; spec/foundationdb.md 2.6, 8.3.

import { faultToleranceProblem } from '../../database/safety.ts'
import type { ProcessGroupCondition } from '../../contract.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  availableDatabase,
  changeProcessGroups,
  type ClusterContext,
  normalEvent,
  processGroupsIn,
} from '../context.ts'
import { usesLocalities } from '../exclusion-targets.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { hasTaintOptions, hasTooManyTaints } from '../node-taints.ts'
import { addressesOf, conditionSince, isExcluded, isMarked, marked, withoutExclusion } from '../process-groups.ts'
import { continueWith, NO_DELAY_MS, stopFor } from '../requeue.ts'

const MORE_DELAY_MS = 300_000

export const replaceFailedPods = clusterStep('ReplaceFailedPods', async (context) => {
  const { settings, now } = context
  const { replacements } = settings.automation
  const { emptyMonitorConf = false } = settings.spec.buggify ?? {}
  if (!replacements.enabled || emptyMonitorConf || crashesAll(context)) return undefined
  const causes = replacementCauses(context)
  const failed = processGroupsIn(context).filter((group) => hasFailed(context, group, causes))
  if (failed.length === 0) return undefined
  const database = await availableDatabase(context)
  if (database === undefined) return undefined
  const isTolerant = faultToleranceProblem(database, settings.spec.databaseConfiguration ?? {}) === undefined
  const isKnown = (group: ProcessGroupStatus) => addressesOf(group).length > 0 || usesLocalities(context)
  const eligible = failed.filter((group) => isKnown(group) || isTolerant)
  const chosen = new Set(within(context, eligible).map(({ processGroupID }) => processGroupID))
  if (chosen.size === 0) return eligible.length === 0 ? undefined : waits(eligible)
  changeProcessGroups(context, (group) => {
    if (!chosen.has(group.processGroupID)) return group
    const removed = marked(group, now)
    return isKnown(group) ? removed : withoutExclusion(removed)
  })
  await normalEvent(context, 'ReplacingFailedPods', `Replacing failed process groups ${[...chosen].join(', ')}`)
  await context.pass.save()
  return stopFor(`process groups are replaced: ${[...chosen].join(', ')}`, NO_DELAY_MS)
})

function waits(groups: readonly ProcessGroupStatus[]) {
  const ids = groups.map(({ processGroupID }) => processGroupID).join(', ')
  return continueWith(
    `the most replacements at a time are in progress; failed process groups wait: ${ids}`,
    MORE_DELAY_MS,
  )
}

function crashesAll({ settings }: ClusterContext): boolean {
  const { crashLoop = [], crashLoopContainers = [] } = settings.spec.buggify ?? {}
  return [...crashLoop, ...crashLoopContainers.flatMap(({ targets = [] }) => targets)].includes('*')
}

/** The seconds after which each condition leads to a replacement. */
function replacementCauses(context: ClusterContext): ReadonlyMap<ProcessGroupCondition, number> {
  const { settings } = context
  const { conditions, failureDetectionTimeSeconds, taintReplacementTimeSeconds } = settings.automation.replacements
  const causes = new Map(conditions.map((type) => [type, failureDetectionTimeSeconds]))
  causes.delete('NodeTaintReplacing')
  if (hasTaintOptions(settings) && !hasTooManyTaints(context))
    causes.set('NodeTaintReplacing', taintReplacementTimeSeconds)
  return causes
}

function hasFailed(
  { now }: ClusterContext,
  group: ProcessGroupStatus,
  causes: ReadonlyMap<ProcessGroupCondition, number>,
): boolean {
  if (isMarked(group)) return false
  return [...causes].some(([type, seconds]) => {
    const since = conditionSince(group, type)
    return since !== undefined && now.seconds - since > seconds
  })
}

/** As many as the limit permits; with `faultDomainBasedReplacements` the limit counts fault domains. */
function within(context: ClusterContext, failed: readonly ProcessGroupStatus[]): readonly ProcessGroupStatus[] {
  const { maxConcurrentReplacements: most, faultDomainBasedReplacements } = context.settings.automation.replacements
  const ongoing = processGroupsIn(context).filter((group) => isMarked(group) && !isExcluded(group))
  if (!faultDomainBasedReplacements) return failed.slice(0, Math.max(0, most - ongoing.length))
  const domainOf = ({ faultDomain, processGroupID }: ProcessGroupStatus) => faultDomain ?? processGroupID
  const domains = new Set(ongoing.map(domainOf))
  return failed.filter((group) => {
    if (!domains.has(domainOf(group)) && domains.size >= most) return false
    domains.add(domainOf(group))
    return true
  })
}

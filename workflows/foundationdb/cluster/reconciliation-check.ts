// Checks which changes a cluster still needs: the fields of `status.generations`. Source: spec/foundationdb.md 2.25; seeds/foundationdb-operator-technical-design.txt
// "Tracking Reconciliation Stages".
//
//   R1. `reconciled` never decreases; the other fields show problems at a generation that was complete before.
//   R2. Process groups that only wait for the end of their objects set `hasPendingRemoval`, and the generation still counts as reconciled.

import { CLUSTER_GENERATIONS, type ClusterGeneration } from '../contract.ts'
import { wantsTls } from '../model/cluster-settings.ts'
import { processCounts, totalCount } from '../model/process-counts.ts'
import { type ClusterContext, processGroupsIn, updateStatus } from './context.ts'
import type { ClusterStatus } from './kind.ts'
import { hasCondition, isExcluded, isHealthy, isMarked } from './process-groups.ts'

type Generations = NonNullable<ClusterStatus['generations']>

/** Facts about this pass that the status does not contain. */
export interface Observations {
  readonly isDatabaseKnown: boolean
  readonly hasCurrentConfiguration: boolean
}

/** Sets one field to the current generation. */
export function needsGeneration(context: ClusterContext, field: ClusterGeneration): void {
  const { generation } = context.pass.target.metadata
  updateStatus(context, { generations: { ...context.status.generations, [field]: generation } })
}

/** Sets all fields. @returns whether the generation is reconciled. */
export function checkReconciliation(context: ClusterContext, observations: Observations): boolean {
  const { generation } = context.pass.target.metadata
  const needs = neededGenerations(context, observations)
  const isReconciled = needs.every((field) => field === 'hasPendingRemoval')
  const reconciled = isReconciled ? generation : context.status.generations?.reconciled
  const fields = CLUSTER_GENERATIONS.filter((field) => needs.includes(field)).map((field) => [field, generation])
  const generations = {
    ...(reconciled !== undefined && { reconciled }),
    ...(Object.fromEntries(fields) as Generations),
  }
  const groups = processGroupsIn(context)
  updateStatus(context, {
    generations,
    desiredProcessGroups: totalCount(processCounts(context.settings)),
    reconciledProcessGroups: groups.filter((group) => isHealthy(group) && !isMarked(group)).length,
  })
  return isReconciled
}

function neededGenerations(context: ClusterContext, observations: Observations): readonly ClusterGeneration[] {
  const { status, settings } = context
  if (status.configured !== true) return ['needsConfigurationChange']
  const { tls = false, nonTLS = false } = status.requiredAddresses ?? {}
  const isTls = wantsTls(settings)
  const { denyList, isUsed } = settings.lock
  const checks: readonly (readonly [ClusterGeneration, boolean])[] = [
    ['missingDatabaseStatus', !observations.isDatabaseKnown],
    ['needsConfigurationChange', !observations.hasCurrentConfiguration],
    ['needsMonitorConfUpdate', status.hasIncorrectConfigMap === true],
    ['needsServiceUpdate', status.hasIncorrectServiceConfig === true],
    ['needsCoordinatorChange', status.needsNewCoordinators === true],
    ['hasExtraListeners', tls !== isTls || nonTLS === isTls],
    ['needsLockConfigurationChanges', isUsed && !isDenyListCurrent(denyList, status.locks?.lockDenyList ?? [])],
  ]
  return [...groupNeeds(context), ...checks.flatMap(([field, isNeeded]) => (isNeeded ? [field] : []))]
}

function groupNeeds(context: ClusterContext): readonly ClusterGeneration[] {
  const groups = processGroupsIn(context)
  const unmarked = groups.filter((group) => !isMarked(group))
  const removed = groups.filter(isMarked)
  const counts = processCounts(context.settings)
  const classes = [...new Set([...Object.keys(counts), ...unmarked.map(({ processClass = '' }) => processClass)])]
  const differences = classes.map((processClass) => {
    const desired = (counts as Readonly<Record<string, number>>)[processClass] ?? 0
    return desired - unmarked.filter((group) => group.processClass === processClass).length
  })
  // R2
  const isPending = (group: (typeof groups)[number]) => isExcluded(group) && hasCondition(group, 'ResourcesTerminating')
  const checks: readonly (readonly [ClusterGeneration, boolean])[] = [
    ['needsGrow', differences.some((difference) => difference > 0)],
    ['needsShrink', differences.some((difference) => difference < 0) || removed.some((group) => !isPending(group))],
    ['hasPendingRemoval', removed.some(isPending)],
    ['hasUnhealthyProcess', unmarked.some((group) => !isHealthy(group))],
    ['needsBounce', unmarked.some((group) => hasCondition(group, 'IncorrectCommandLine'))],
    ['needsPodDeletion', unmarked.some((group) => hasCondition(group, 'IncorrectPodSpec'))],
  ]
  return checks.flatMap(([field, isNeeded]) => (isNeeded ? [field] : []))
}

/** Whether the database has each entry of the spec and none that the spec allows. */
export function isDenyListCurrent(
  entries: readonly { readonly id: string; readonly isAllowed: boolean }[],
  stored: readonly string[],
): boolean {
  return entries.every(({ id, isAllowed }) => stored.includes(id) !== isAllowed)
}

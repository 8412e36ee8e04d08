// Taints of Nodes whose process groups are replaced (`replacements.taintReplacementOptions`). Without this option, no Node is read. Source:
// spec/foundationdb.md 1.1, 2.1, 2.6.
//
//   T1. The option with the key of a taint overrides the option `*`. A negative duration exempts the taint.
//   T2. NodeTaintDetected begins with the taint, where the taint has a time; NodeTaintReplacing begins after the duration of the option.
//   T3. If too many fault domains have tainted Nodes, taints lead to no replacement: a maintenance of all Nodes must not move all data.

import type { ClusterSettings } from '../model/cluster-settings.ts'
import { type ClusterContext, processGroupsIn } from './context.ts'
import type { ProcessGroupStatus } from './kind.ts'
import type { NodeTaint, ObservedPod } from './observed.ts'
import { conditionSince, hasCondition, withCondition } from './process-groups.ts'

type Replacing = Pick<ClusterSettings, 'automation'>

export function hasTaintOptions({ automation }: Replacing): boolean {
  return automation.replacements.taintReplacementOptions.length > 0
}

/** Reads the tainted Nodes once per pass. */
export async function readTaintedNodes(context: ClusterContext): Promise<void> {
  if (hasTaintOptions(context.settings)) context.taintedNodes ??= await context.pass.refresh('nodes')
}

/** T1, T2 */
export function withTaintConditions(
  { settings, taintedNodes = [], now }: ClusterContext,
  group: ProcessGroupStatus,
  pod: ObservedPod | undefined,
): ProcessGroupStatus {
  const { taints = [] } = taintedNodes.find(({ name }) => name === pod?.spec.nodeName) ?? {}
  const matching = taints.flatMap((taint) => {
    const seconds = durationOf(settings, taint)
    return seconds < 0 ? [] : [{ since: taint.since ?? now.seconds, seconds }]
  })
  const first = Math.min(now.seconds, ...matching.map(({ since }) => since))
  const detected = withCondition(group, 'NodeTaintDetected', matching.length > 0, { ...now, seconds: first })
  const known = conditionSince(detected, 'NodeTaintDetected') ?? now.seconds
  const isOver = matching.some(({ since, seconds }) => now.seconds - Math.min(since, known) > seconds)
  return withCondition(detected, 'NodeTaintReplacing', isOver, now)
}

/** T1. In seconds; infinite without a duration. */
function durationOf({ automation }: Replacing, { key }: NodeTaint): number {
  const { taintReplacementOptions: options } = automation.replacements
  const option = options.find((one) => one.key === key) ?? options.find((one) => one.key === '*')
  return option === undefined ? -1 : (option.durationInSeconds ?? Infinity)
}

/** T3 */
export function hasTooManyTaints(context: ClusterContext): boolean {
  const groups = processGroupsIn(context)
  const domainsOf = (some: readonly ProcessGroupStatus[]) =>
    new Set(some.map(({ faultDomain, processGroupID }) => faultDomain ?? processGroupID)).size
  const tainted = domainsOf(groups.filter((group) => hasCondition(group, 'NodeTaintDetected')))
  const { maxFaultDomainsWithTaintedProcessGroups: most } = context.settings.automation.replacements
  return tainted > limitOf(most, domainsOf(groups))
}

/** @param limit a number, or a percentage such as `10%`, which permits at least one. */
function limitOf(limit: number | string, total: number): number {
  const [, percentage] = /^(\d+)%$/.exec(String(limit)) ?? []
  return percentage === undefined ? Number(limit) : Math.max(1, Math.floor((total * Number(percentage)) / 100))
}

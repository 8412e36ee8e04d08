// The problems of a cluster, as `pawl fdb analyze` reports them. Pure. Source: spec/foundationdb.md 5.
//
//   P1. A problem needs a change, and makes the exit code 3. A warning does not.
//   P2. Pods of process groups that are being removed may be in any state, but must not terminate for longer than five minutes.

import type {
  ClusterStatus,
  FoundationDBCluster,
  ProcessGroupStatus,
} from '../../../workflows/foundationdb/cluster/kind.ts'
import { RECONCILED_CONDITION } from '../../../workflows/foundationdb/contract.ts'
import { clusterSettings } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import { processCounts, redundancyOf } from '../../../workflows/foundationdb/model/process-counts.ts'
import { isExcluded, isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import { durationText } from '../../../workflows/kit/index.ts'
import { processGroupsOf } from './process-groups.ts'
import { type ClusterPod, processGroupIDOf } from './pods.ts'

export interface Finding {
  readonly severity: 'problem' | 'warning'
  readonly message: string
}

export interface AnalyzeOptions {
  /** Types of conditions of process groups that do not count. */
  readonly ignoredConditions: ReadonlySet<string>
  /** Process groups that are being removed do not count. */
  readonly ignoresRemovals: boolean
  readonly nowMs: number
}

/** A Pod that terminates for longer is stuck. */
const STUCK_MS = 300_000

const problem = (message: string): Finding => ({ severity: 'problem', message })
const warning = (message: string): Finding => ({ severity: 'warning', message })

export function findingsOf(
  cluster: FoundationDBCluster,
  pods: readonly ClusterPod[],
  options: AnalyzeOptions,
): readonly Finding[] {
  if (cluster.status === undefined)
    return [problem('the status is empty; check that a bridge and a worker run with the wing foundationdb')]
  const groups = processGroupsOf(cluster)
  return [
    ...healthFindings(cluster),
    ...groups.flatMap((group) => groupFindings(group, options)),
    ...podFindings(cluster, pods, options),
    ...faultDomainFindings(cluster),
  ]
}

function healthFindings({ metadata, spec, status = {} }: FoundationDBCluster): readonly Finding[] {
  const { available, fullReplication } = status.health ?? {}
  const { reconciled = 0 } = status.generations ?? {}
  const { generation } = metadata
  return [
    ...(available === true ? [] : [problem('the database is unavailable')]),
    ...(fullReplication === true ? [] : [problem('some data has fewer copies than redundancy_mode requires')]),
    ...(reconciled >= generation ? [] : [problem(`generation ${generation} is not reconciled${blockedText(status)}`)]),
    ...(spec.skip === true ? [warning('spec.skip is true: no controller handles the cluster')] : []),
  ]
}

/** `: STEP: MESSAGE`; empty without a blocked step. */
function blockedText({ conditions = [] }: Pick<ClusterStatus, 'conditions'>): string {
  const { reason = '', message = '' } = conditions.find(({ type }) => type === RECONCILED_CONDITION) ?? {}
  return message === '' ? '' : `: ${reason}: ${message}`
}

function groupFindings(group: ProcessGroupStatus, options: AnalyzeOptions): readonly Finding[] {
  const { processGroupID: id, processGroupConditions = [], removalTimestamp } = group
  if (isMarked(group)) {
    if (options.ignoresRemovals) return []
    const since = removalTimestamp === undefined ? '' : sinceText(Date.parse(removalTimestamp), options)
    const state = isExcluded(group) ? 'its processes are excluded' : 'its data has not moved away yet'
    return [warning(`process group ${id} is being removed${since}; ${state}`)]
  }
  return processGroupConditions.flatMap(({ type = '', timestamp = 0 }) =>
    options.ignoredConditions.has(type)
      ? []
      : [problem(`process group ${id}: ${type}${sinceText(timestamp * 1000, options)}`)],
  )
}

function podFindings(
  cluster: FoundationDBCluster,
  pods: readonly ClusterPod[],
  options: AnalyzeOptions,
): readonly Finding[] {
  const groups = new Map(processGroupsOf(cluster).map((group) => [group.processGroupID, group]))
  return pods.flatMap((pod) => {
    const id = processGroupIDOf(cluster, pod)
    const group = id === undefined ? undefined : groups.get(id)
    const { name, deletionTimestamp } = pod.metadata
    if (isStuck(pod, options.nowMs)) {
      const since = sinceText(Date.parse(deletionTimestamp ?? ''), options)
      return [problem(`Pod ${name} is stuck: it terminates${since}`)]
    }
    if (group === undefined)
      return [problem(`Pod ${name} belongs to no process group in the status (its label: ${id ?? 'none'})`)]
    // P2
    return isMarked(group) || deletionTimestamp !== undefined ? [] : stateFindings(pod)
  })
}

export function isStuck({ metadata: { deletionTimestamp } }: ClusterPod, nowMs: number): boolean {
  return deletionTimestamp !== undefined && nowMs - Date.parse(deletionTimestamp) > STUCK_MS
}

function stateFindings({ metadata: { name }, status = {} }: ClusterPod): readonly Finding[] {
  const { phase = 'Pending', containerStatuses = [], conditions = [] } = status
  const unready = containerStatuses.flatMap(({ name: container, ready, state = {} }) => {
    if (ready === true) return []
    const { reason, message } = state.waiting ?? state.terminated ?? {}
    const why = [reason, message].filter((text) => text !== undefined && text !== '').join(': ')
    return [problem(`Pod ${name}: container ${container} is not ready${why === '' ? '' : `: ${why}`}`)]
  })
  if (phase === 'Running' || unready.length > 0) return unready
  const unscheduled = conditions.find((one) => one.type === 'PodScheduled' && one.status === 'False')?.message
  const why = unscheduled ?? status.message ?? status.reason
  return [problem(`Pod ${name} is ${phase}${why === undefined || why === '' ? '' : `: ${why}`}`)]
}

/** Only of classes that can have the minimum: a class of one process group needs no second fault domain. */
function faultDomainFindings(cluster: FoundationDBCluster): readonly Finding[] {
  const settings = clusterSettings(cluster)
  const { faultDomains: minimum } = redundancyOf(settings.spec.databaseConfiguration ?? {})
  const unmarked = processGroupsOf(cluster).filter((group) => !isMarked(group))
  return Object.entries(processCounts(settings)).flatMap(([processClass, desired]) => {
    if (minimum < 2 || desired < minimum) return []
    const own = unmarked.filter((group) => group.processClass === processClass)
    const domains = new Set(own.flatMap(({ faultDomain }) => faultDomain ?? [])).size
    const text = `class ${processClass}: its process groups are in ${domains === 1 ? '1 fault domain' : `${domains} fault domains`}`
    if (domains < minimum) return [problem(`${text}; expected at least ${minimum}`)]
    return domains === minimum ? [warning(`${text}, the minimum: after the loss of one, data has too few copies`)] : []
  })
}

/** ` since 2026-11-28T21:40:00Z (12 min)`; empty for an unknown time. */
function sinceText(ms: number, { nowMs }: AnalyzeOptions): string {
  if (!Number.isFinite(ms) || ms <= 0) return ''
  const time = new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
  return ` since ${time} (${durationText(Math.max(0, nowMs - ms))})`
}

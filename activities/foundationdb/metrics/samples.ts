// The gauges of one cluster or backup. Pure. Source: the Go operator's pkg/metrics.

import type { FoundationDBBackup } from '../../../workflows/foundationdb/backup/kind.ts'
import type { FoundationDBCluster, ProcessGroupStatus } from '../../../workflows/foundationdb/cluster/kind.ts'
import { PROCESS_CLASSES, PROCESS_GROUP_CONDITIONS } from '../../../workflows/foundationdb/contract.ts'
import type { FoundationDBMetric } from '../../../workflows/foundationdb/metrics.ts'
import { backupSettings } from '../../../workflows/foundationdb/model/backup-settings.ts'
import { clusterSettings } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import { processCounts } from '../../../workflows/foundationdb/model/process-counts.ts'
import { isExcluded, isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import type { Sample } from '../../run/metrics.ts'

type Labels = Readonly<Record<string, string>>
type Gauge = (name: FoundationDBMetric, value: number, labels?: Labels) => Sample

export function clusterSamples(cluster: FoundationDBCluster): readonly Sample[] {
  const { metadata, status = {} } = cluster
  const gauge = gaugeOf(metadata)
  const settings = clusterSettings(cluster)
  const { healthy, available, fullReplication, dataMovementPriority = 0 } = status.health ?? {}
  const health = { health: flag(healthy), available: flag(available), replication: flag(fullReplication) }
  const reconciled = status.generations?.reconciled ?? 0
  return [
    gauge('fdb_operator_cluster_created_time', Date.parse(metadata.creationTimestamp) / 1000),
    ...Object.entries({ ...health, datamovementpriority: dataMovementPriority }).map(([status_type, value]) =>
      gauge('fdb_operator_cluster_status', value, { status_type }),
    ),
    gauge('fdb_operator_cluster_latest_reconciled_status', reconciled),
    gauge('fdb_operator_cluster_reconciled_status', flag(reconciled === metadata.generation)),
    gauge('fdb_operator_process_groups_to_remove_total', settings.processGroupsToRemove.length),
    gauge(
      'fdb_operator_process_group_to_remove_without_exclusion_total',
      settings.processGroupsToRemoveWithoutExclusion.length,
    ),
    ...Object.entries(processCounts(settings)).map(([process_class, count]) =>
      gauge('fdb_operator_desired_process_group_total', count, { process_class }),
    ),
    ...processGroupSamples(status.processGroups ?? [], gauge),
  ]
}

/** Known classes and conditions only, so that the labels have few values. All conditions of a class have a value, also 0. */
function processGroupSamples(groups: readonly ProcessGroupStatus[], gauge: Gauge): readonly Sample[] {
  return PROCESS_CLASSES.flatMap((process_class) => {
    const own = groups.filter((group) => group.processClass === process_class)
    if (own.length === 0) return []
    return [
      ...PROCESS_GROUP_CONDITIONS.map((condition) =>
        gauge('fdb_operator_process_group_total', own.filter((group) => hasCondition(group, condition)).length, {
          process_class,
          condition,
        }),
      ),
      gauge('fdb_operator_process_group_marked_removal', own.filter(isMarked).length, { process_class }),
      gauge('fdb_operator_process_group_marked_excluded', own.filter(isExcluded).length, { process_class }),
    ]
  })
}

function hasCondition({ processGroupConditions = [] }: ProcessGroupStatus, condition: string): boolean {
  if (condition === 'Ready') return processGroupConditions.length === 0
  return processGroupConditions.some(({ type }) => type === condition)
}

/** A gauge whose value is the age of a time in seconds. */
export interface AgeSample extends Omit<Sample, 'value'> {
  readonly sinceMs: number
}

export function backupSamples({ metadata, spec, status = {} }: FoundationDBBackup): readonly (Sample | AgeSample)[] {
  const gauge = gaugeOf(metadata)
  const { backupDetails, agentCount = 0, generations = {} } = status
  const { reconciled = 0 } = generations
  return [
    gauge('fdb_operator_backup_agent_count', agentCount),
    gauge('fdb_operator_backup_desired_agent_count', backupSettings(metadata.name, spec).agentCount),
    gauge('fdb_operator_backup_latest_reconciled_status', reconciled),
    gauge('fdb_operator_backup_reconciled_status', flag(reconciled === metadata.generation)),
    ...(backupDetails === undefined
      ? []
      : [
          gauge('fdb_operator_backup_running', flag(backupDetails.running)),
          gauge('fdb_operator_backup_paused', flag(backupDetails.paused)),
          gauge('fdb_operator_backup_restorable', flag(backupDetails.restorable)),
        ]),
    ...restorablePointSamples({ metadata, status }),
  ]
}

function restorablePointSamples({
  metadata: { namespace, name },
  status = {},
}: Pick<FoundationDBBackup, 'metadata' | 'status'>): readonly AgeSample[] {
  const { lastRestorableVersionUpdateTime: since } = status.backupDetails ?? {}
  if (since === undefined) return []
  const metric: FoundationDBMetric = 'fdb_operator_backup_seconds_since_last_restorable_point'
  return [{ name: metric, labels: { namespace, name }, sinceMs: Date.parse(since) }]
}

function gaugeOf({ namespace, name }: { readonly namespace: string; readonly name: string }): Gauge {
  return (metric, value, labels = {}) => ({ name: metric, labels: { namespace, name, ...labels }, value })
}

function flag(value: boolean | undefined): number {
  return value === true ? 1 : 0
}

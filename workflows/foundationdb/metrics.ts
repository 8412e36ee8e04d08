// The metrics of the wing, with the names of the Go operator. Source: spec/foundationdb.md 8.2; the operator's pkg/metrics.

import type { MetricTable } from '../kit/index.ts'

const CLUSTER = { type: 'gauge', labels: ['namespace', 'name'] } as const
const CLASS = { type: 'gauge', labels: ['namespace', 'name', 'process_class'] } as const

export const FOUNDATIONDB_METRICS = {
  fdb_operator_cluster_created_time: { ...CLUSTER, help: 'Creation time of a cluster in Unix seconds.' },
  fdb_operator_cluster_status: {
    type: 'gauge',
    labels: ['namespace', 'name', 'status_type'],
    help: 'Health of a database: health, available and replication are 0 or 1; datamovementpriority is a priority.',
  },
  fdb_operator_cluster_latest_reconciled_status: { ...CLUSTER, help: 'Last reconciled generation of a cluster.' },
  fdb_operator_cluster_reconciled_status: {
    ...CLUSTER,
    help: '1 if the generation of a cluster is reconciled, else 0.',
  },
  fdb_operator_process_groups_to_remove_total: {
    ...CLUSTER,
    help: 'Process groups that the spec of a cluster lists for removal.',
  },
  fdb_operator_process_group_to_remove_without_exclusion_total: {
    ...CLUSTER,
    help: 'Process groups that the spec of a cluster lists for removal without exclusion.',
  },
  fdb_operator_process_group_total: {
    type: 'gauge',
    labels: ['namespace', 'name', 'process_class', 'condition'],
    help: 'Process groups with a condition; Ready counts process groups without conditions.',
  },
  fdb_operator_process_group_marked_removal: { ...CLASS, help: 'Process groups that are being removed.' },
  fdb_operator_process_group_marked_excluded: {
    ...CLASS,
    help: 'Process groups whose exclusion is complete or not needed.',
  },
  fdb_operator_desired_process_group_total: { ...CLASS, help: 'Desired number of process groups.' },
  fdb_operator_coordinator_changes_total: {
    type: 'counter',
    labels: ['namespace'],
    help: 'Changes of the connection strings of clusters, by their coordinators.',
  },
  fdb_operator_backup_running: { ...CLUSTER, help: '1 if a backup runs, else 0.' },
  fdb_operator_backup_paused: { ...CLUSTER, help: '1 if the agents of a backup are paused, else 0.' },
  fdb_operator_backup_restorable: { ...CLUSTER, help: '1 if a backup can be restored, else 0.' },
  fdb_operator_backup_seconds_since_last_restorable_point: {
    ...CLUSTER,
    help: 'Time since the latest restorable point of a backup advanced; a running backup is read once per minute.',
  },
  fdb_operator_backup_agent_count: { ...CLUSTER, help: 'Agents of a backup that are ready and up to date.' },
  fdb_operator_backup_desired_agent_count: { ...CLUSTER, help: 'Desired number of agents of a backup.' },
  fdb_operator_backup_latest_reconciled_status: { ...CLUSTER, help: 'Last reconciled generation of a backup.' },
  fdb_operator_backup_reconciled_status: { ...CLUSTER, help: '1 if the generation of a backup is reconciled, else 0.' },
  fdb_operator_backup_reconcile_errors_total: {
    type: 'counter',
    labels: ['namespace', 'subreconciler'],
    help: 'Errors of backups by the step that failed, or by the code of an error of the API server.',
  },
} as const satisfies MetricTable

export type FoundationDBMetric = keyof typeof FOUNDATIONDB_METRICS

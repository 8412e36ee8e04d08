// The metrics of the engine: declarations only. Each process declares the tables that it counts (worker/server/process-metrics.ts), and `pawl gen` prints them
// in docs/reference/metrics.md.
//
//   M1. No label has a value that a tenant chooses: no names and no namespaces of objects. Labels are names of controllers and kinds that this process runs,
//       and words from Pawl's code.
//   M2. Names that begin with controller_runtime_, workqueue_ and rest_client_ have the meaning and the labels of controller-runtime and client-go, so that
//       dashboards and alerts for other operators work. Source: kubernetes-sigs/controller-runtime, pkg/internal/controller/metrics, pkg/internal/metrics.

import type { MetricTable } from './wing.ts'

/** Upper bounds in seconds of requests and statements. */
const CALL_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** Upper bounds in seconds of passes and of waits in the queue. */
const PASS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const QUEUE = ['name', 'controller'] as const

/** Each process. */
export const PROCESS_METRICS = {
  pawl_ready: { type: 'gauge', help: '1 if /readyz answers 200, else 0.' },
  rest_client_requests_total: {
    type: 'counter',
    labels: ['code', 'method', 'host'],
    help: 'Requests to the API server of the process by HTTP status code, or `<error>` without an answer.',
  },
  pawl_api_request_duration_seconds: {
    type: 'histogram',
    labels: ['method'],
    buckets: CALL_BUCKETS,
    help: 'Seconds from a request to the API server until the headers of its answer.',
  },
} as const satisfies MetricTable

/** Processes that are connected to the journal: bridge, worker and api. */
export const JOURNAL_METRICS = {
  pawl_sql_duration_seconds: {
    type: 'histogram',
    labels: ['result'],
    buckets: CALL_BUCKETS,
    help: 'Seconds of an SQL statement of the journal; result is ok or error.',
  },
} as const satisfies MetricTable

/** Processes that serve TLS: webhook and api. */
export const CERTIFICATE_METRICS = {
  pawl_certificate_expiry_timestamp_seconds: {
    type: 'gauge',
    help: 'The end of validity of the serving certificate, in Unix seconds.',
  },
} as const satisfies MetricTable

export const BRIDGE_METRICS = {
  pawl_event_lag_seconds: {
    type: 'gauge',
    labels: ['kind'],
    help: 'Age of the oldest watch event that is not in the journal; 0 without such an event.',
  },
  pawl_relists_total: { type: 'counter', labels: ['kind'], help: 'Complete lists of a kind.' },
  pawl_watch_interruptions_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Watches that ended with an error; the bridge reconnects.',
  },
  pawl_journal_size_bytes: { type: 'gauge', help: 'Size of the database of the journal.' },
} as const satisfies MetricTable

export const WORKER_METRICS = {
  pawl_jobs_total: {
    type: 'counter',
    labels: ['controller', 'outcome'],
    help: 'Jobs whose end this worker wrote, by their final phase; a hosted job counts for its own controller.',
  },
  pawl_phase_duration_seconds: {
    type: 'histogram',
    labels: ['controller', 'phase'],
    help: 'Seconds from the write of a phase of a job until the write of its next phase, both by this worker. Phases of hosted jobs and of deploy items are not counted.',
  },
  pawl_wake_to_start_seconds: {
    type: 'histogram',
    labels: ['controller'],
    buckets: PASS_BUCKETS,
    help: 'Seconds from the due time of a wake until the first pass of the run that it started.',
  },
  pawl_event_to_first_write_seconds: {
    type: 'histogram',
    labels: ['controller'],
    buckets: PASS_BUCKETS,
    help: 'Seconds from the time when the journal received an event until the first write of the run that it started.',
  },
  pawl_writes_total: {
    type: 'counter',
    labels: ['controller', 'verb', 'result'],
    help: 'Writes of runs to the API server by their result: ok, gone, superseded or failed.',
  },
  pawl_write_conflicts_total: {
    type: 'counter',
    labels: ['controller'],
    help: 'Writes that another writer had overtaken; they were decided again on the current object.',
  },
  pawl_temporal_request_duration_seconds: {
    type: 'histogram',
    labels: ['operation', 'result'],
    buckets: CALL_BUCKETS,
    help: 'Seconds of a request to Temporal; result is ok or error, and error includes a start of a run that exists.',
  },
  pawl_open_runs: { type: 'gauge', labels: ['controller'], help: 'Open runs in the journal.' },
  pawl_failing_runs: {
    type: 'gauge',
    labels: ['controller'],
    help: 'Open runs whose last five passes or more failed.',
  },
  pawl_oldest_deletion_seconds: {
    type: 'gauge',
    labels: ['controller'],
    help: 'Time since the deletion request of the object that an open run has been deleting for the longest time.',
  },
  pawl_stuck_runs: {
    type: 'gauge',
    help: 'Runs whose workflow task fails, because of a bug or because the present code cannot replay them.',
  },
  pawl_waiting_turns: {
    type: 'gauge',
    labels: ['controller'],
    help: 'Namespaces with due wakes that no worker has claimed; workers serve the namespaces in turns.',
  },
  pawl_oldest_wake_seconds: {
    type: 'gauge',
    labels: ['controller'],
    help: 'How long the oldest due wake has been waiting for a worker.',
  },
  controller_runtime_reconcile_total: {
    type: 'counter',
    labels: ['controller', 'result'],
    help: 'Passes by result: success, error, requeue or requeue_after.',
  },
  controller_runtime_reconcile_errors_total: { type: 'counter', labels: ['controller'], help: 'Passes that failed.' },
  controller_runtime_reconcile_time_seconds: {
    type: 'histogram',
    labels: ['controller'],
    buckets: PASS_BUCKETS,
    help: 'Seconds of a pass from its first read until its settle.',
  },
  controller_runtime_active_workers: {
    type: 'gauge',
    labels: ['controller'],
    help: 'Passes that this worker is executing.',
  },
  controller_runtime_max_concurrent_reconciles: {
    type: 'gauge',
    labels: ['controller'],
    help: 'Limit of concurrent passes: of the controller in all workers together (settings.passes), else of this worker.',
  },
  workqueue_depth: { type: 'gauge', labels: QUEUE, help: 'Due wakes that no worker has claimed.' },
  workqueue_adds_total: {
    type: 'counter',
    labels: QUEUE,
    help: 'Wakes that this worker claimed. Events on an object whose wake is still in the queue add none.',
  },
  workqueue_queue_duration_seconds: {
    type: 'histogram',
    labels: QUEUE,
    buckets: PASS_BUCKETS,
    help: 'Seconds from the due time of a wake until this worker claimed it.',
  },
  workqueue_work_duration_seconds: {
    type: 'histogram',
    labels: QUEUE,
    buckets: PASS_BUCKETS,
    help: 'The same as controller_runtime_reconcile_time_seconds.',
  },
  workqueue_retries_total: {
    type: 'counter',
    labels: QUEUE,
    help: 'Passes after which the back-off set the next due time.',
  },
} as const satisfies MetricTable

/** The engine's metrics by the processes that serve them. */
export const ENGINE_METRICS: readonly { readonly processes: string; readonly metrics: MetricTable }[] = [
  { processes: 'Workers', metrics: WORKER_METRICS },
  { processes: 'Bridges', metrics: BRIDGE_METRICS },
  { processes: 'Bridges, workers and `pawl api`', metrics: JOURNAL_METRICS },
  { processes: 'Webhooks and `pawl api`', metrics: CERTIFICATE_METRICS },
  { processes: 'All processes', metrics: PROCESS_METRICS },
]

// Counts what runs do, for Prometheus (kit/run/metrics.ts): activities and the dispatcher report here. Counting is in memory and makes no request.
//
//   C1. A run is known by its workflow ID until it ends; the maps keep at most MAX_RUNS runs, because a run may continue in another worker.
//   C2. Each latency of a start is counted once. A run in job mode writes before its first pass, a run in level mode after it.
//   C3. Label values are the names of controllers and words from code. Should code pass others, at most MAX_VALUES of them become series.

import { controllerInID, type WORKER_METRICS } from '../../workflows/kit/index.ts'
import type { Metrics, Sample } from './metrics.ts'

type MetricName = keyof typeof WORKER_METRICS

const MAX_RUNS = 10_000
const MAX_VALUES = 50
const OTHER = 'other'
/** A pass that has not settled here after this time continues in another worker, or its object does not exist. */
const ABANDONED_MS = 10 * 60_000

interface Start {
  readonly dueMs: number
  readonly isByEvent: boolean
  hasPass: boolean
  hasWrite: boolean
}

/** The answer to a write (kube/write-request.ts). */
interface Answer {
  readonly result: 'ok' | 'gone' | 'superseded' | 'failed'
  readonly wrote?: boolean
  readonly conflicted?: boolean
}

export interface PassEnd {
  /** Delay of the next pass; undefined: none is requested. */
  readonly againMs: number | undefined
  /** Number of consecutive failed passes; 0 after a pass without a fault. */
  readonly attempt: number
}

export class RunMetrics {
  readonly #metrics: Pick<Metrics, 'count' | 'observe'>
  readonly #nowMs: () => number
  readonly #passes = new Map<string, number>()
  readonly #starts = new Map<string, Start>()
  readonly #phases = new Map<string, { readonly phase: string; readonly sinceMs: number }>()
  readonly #values = new Set<string>()

  /**
   * @param now the clock of the journal.
   * @param controllers of this process: their counters of faults exist from the start, so that Prometheus sees the first increase.
   */
  constructor(metrics: Pick<Metrics, 'count' | 'observe'>, now: () => Date, controllers: Iterable<string> = []) {
    this.#metrics = metrics
    this.#nowMs = () => now().getTime()
    for (const controller of controllers) {
      metrics.count('controller_runtime_reconcile_errors_total', { controller }, 0)
      metrics.count('pawl_jobs_total', { controller, outcome: 'Failed' }, 0)
      metrics.count('pawl_write_conflicts_total', { controller }, 0)
      metrics.count('workqueue_retries_total', { name: controller, controller }, 0)
    }
  }

  /** The dispatcher claimed a wake. */
  wakeClaimed({ controller, due }: { readonly controller: string; readonly due: Date }): void {
    const labels = { name: controller, controller }
    this.#count('workqueue_adds_total', labels)
    this.#observe('workqueue_queue_duration_seconds', due.getTime(), labels)
  }

  /** The dispatcher starts a run. @param seq number of the journal event of the wake; 0 for a due time. */
  runStarting(workflowID: string, { due, seq }: { readonly due: Date; readonly seq: number }): void {
    remember(this.#starts, workflowID, { dueMs: due.getTime(), isByEvent: seq > 0, hasPass: false, hasWrite: false })
  }

  /** A pass begins to observe. */
  passStarted(workflowID: string): void {
    remember(this.#passes, workflowID, this.#nowMs())
    const start = this.#starts.get(workflowID)
    if (start === undefined || start.hasPass) return
    start.hasPass = true
    this.#forgetCounted(workflowID, start)
    this.#observe('pawl_wake_to_start_seconds', start.dueMs, { controller: controllerInID(workflowID) })
  }

  passEnded(workflowID: string, { againMs, attempt }: PassEnd): void {
    const controller = controllerInID(workflowID)
    const isFailed = attempt > 0
    const requeue = againMs === 0 ? 'requeue' : 'requeue_after'
    const success = againMs === undefined ? 'success' : requeue
    this.#count('controller_runtime_reconcile_total', { controller, result: isFailed ? 'error' : success })
    if (isFailed) this.#count('controller_runtime_reconcile_errors_total', { controller })
    if (isFailed && againMs !== undefined) this.#count('workqueue_retries_total', { name: controller, controller })
    const since = this.#passes.get(workflowID)
    this.#passes.delete(workflowID)
    if (since === undefined) return
    this.#observe('controller_runtime_reconcile_time_seconds', since, { controller })
    this.#observe('workqueue_work_duration_seconds', since, { name: controller, controller })
  }

  /** A subject's job enters a phase; a repeated phase is ignored. */
  phaseWritten(workflowID: string, phase: string): void {
    const before = this.#phases.get(workflowID)
    if (before?.phase === phase) return
    remember(this.#phases, workflowID, { phase, sinceMs: this.#nowMs() })
    if (before === undefined) return
    const labels = { controller: controllerInID(workflowID), phase: this.#bounded('phase', before.phase) }
    this.#observe('pawl_phase_duration_seconds', before.sinceMs, labels)
  }

  jobEnded(controller: string, outcome: string): void {
    this.#count('pawl_jobs_total', { controller, outcome: this.#bounded('outcome', outcome) })
  }

  /** The run waits for nothing more in this process. */
  runEnded(workflowID: string): void {
    for (const map of [this.#passes, this.#starts, this.#phases]) map.delete(workflowID)
  }

  /** The API server answered the writes of a run. */
  wrote(workflowID: string, verb: string, answer: Answer): void {
    const controller = controllerInID(workflowID)
    this.#count('pawl_writes_total', { controller, verb, result: answer.result })
    if (answer.conflicted === true) this.#count('pawl_write_conflicts_total', { controller })
    const start = this.#starts.get(workflowID)
    if (answer.wrote !== true || start === undefined || start.hasWrite) return
    start.hasWrite = true
    this.#forgetCounted(workflowID, start)
    if (start.isByEvent) this.#observe('pawl_event_to_first_write_seconds', start.dueMs, { controller })
  }

  /** The passes in this process. @param limits the limit of concurrent passes, by controller. */
  samples(limits: ReadonlyMap<string, number>): readonly Sample[] {
    const oldest = this.#nowMs() - ABANDONED_MS
    const active = new Map([...limits.keys()].map((controller) => [controller, 0]))
    for (const [workflowID, since] of this.#passes) {
      const controller = controllerInID(workflowID)
      if (since < oldest) this.#passes.delete(workflowID)
      else active.set(controller, (active.get(controller) ?? 0) + 1)
    }
    return [
      ...[...active].map(([controller, value]) => sample('controller_runtime_active_workers', controller, value)),
      ...[...limits].map(([controller, value]) =>
        sample('controller_runtime_max_concurrent_reconciles', controller, value),
      ),
    ]
  }

  /** C2 */
  #forgetCounted(workflowID: string, { hasPass, hasWrite }: Start): void {
    if (hasPass && hasWrite) this.#starts.delete(workflowID)
  }

  #count(name: MetricName, labels: Readonly<Record<string, string>>): void {
    this.#metrics.count(name, labels)
  }

  #observe(name: MetricName, sinceMs: number, labels: Readonly<Record<string, string>>): void {
    this.#metrics.observe(name, Math.max(0, this.#nowMs() - sinceMs) / 1000, labels)
  }

  /** C3 */
  #bounded(label: string, value: string): string {
    const key = `${label} ${value}`
    if (this.#values.size < MAX_VALUES) this.#values.add(key)
    return this.#values.has(key) ? value : OTHER
  }
}

function sample(name: MetricName, controller: string, value: number): Sample {
  return { name, labels: { controller }, value }
}

/** C1: the oldest entry makes room. */
function remember<Value>(map: Map<string, Value>, workflowID: string, value: Value): void {
  const [oldest] = map.keys()
  if (map.size >= MAX_RUNS && oldest !== undefined) map.delete(oldest)
  map.set(workflowID, value)
}

// Tracks the runs that execute a workflow task in this process. A wake of such a run is added to its pending wakes, and the settle of the current pass
// returns them, so the run needs no signal. A signal that arrives while a workflow task completes makes Temporal discard the result of the task (ADR 24).
//
//   A1. The tracker only saves signals. The wake stays in the journal and is dispatched again after RECHECK_MS. Then it is acknowledged if a pass in this
//       process has started since, added to the pending wakes again if the run is still in flight, and otherwise leads to a signal.
//   A2. A pass that started in this process may belong to a stale worker: the process was suspended, and the server gave the task to another worker.
//       So a pass acknowledges wakes only while the number of passes in the run's row equals the number of passes that started here.
//   A3. A run without activity for RECHECK_MS is not in flight. While one of its calls is open, it is in flight for at most CALL_TIMEOUT_MS.
//   A4. An object that changes all the time must not occupy a workflow task: the pass after a pass with pending wakes takes no pending wakes. These wakes
//       are dispatched again after SIGNAL_INTERVAL_MS.
//   A5. Events signal a run at most once in SIGNAL_INTERVAL_MS, and not within SIGNAL_INTERVAL_MS after its start. Due times, which the run requested
//       itself, are not limited. Wakes that wait for the next signal are acknowledged when it is sent, because the following pass observes them.
//   A6. A run may host thousands of items, each with its own wake. The more wakes are deferred, the later they are dispatched again.

import type { Job } from '../journal/write/jobs.ts'
import type { Wake } from '../journal/write/wakes.ts'

/** Longer than most passes, and longer than most jobs. */
const RECHECK_MS = 2000
const SIGNAL_INTERVAL_MS = 100
// The time-out of short calls (kit/run/loop/temporal.ts).
const CALL_TIMEOUT_MS = 30_000
// A6: this many wakes are not delayed further; of the others at most a hundred per second are dispatched again.
const MAX_DEFERRED_AT_ONCE = 100
const DEFERRED_INTERVAL_MS = 10
// Runs that ended in another process are not removed. When the limit is reached, all runs are forgotten, and each run that continues costs one signal.
const MAX_RUNS = 10_000
// The numbers of these events enter the history of the run.
const MAX_EVENTS = 10

interface Run {
  /** Number of passes that started in this process. */
  passes: number
  /** Time of the last activity of the current pass, in milliseconds. Undefined: the run waits, or is in another process. */
  lastActiveMs: number | undefined
  /** Start times of the open activity calls, in milliseconds. */
  readonly calls: Set<{ readonly since: number }>
  /** Duration of the slowest failed call of the current pass, in milliseconds. */
  slowestFailureMs: number
  /** Versions of the wakes that arrived since the current pass started, by the key of their rows. */
  readonly pending: Map<string, number>
  /** Numbers of the first journal events of the pending wakes. */
  readonly pendingEvents: Set<number>
  /** Versions of the wakes that arrived before the current pass started. */
  readonly seen: Map<string, number>
  /** Versions of the wakes that wait for the next signal (A5). */
  readonly deferred: Map<string, number>
  /** Versions of the wakes that a signal has acknowledged (A5). */
  readonly signalled: Map<string, number>
  /** The previous pass had pending wakes (A4). */
  hadPending: boolean
  signalledMs: number | undefined
}

const IDLE = { passes: 0, lastActiveMs: undefined, slowestFailureMs: 0, hadPending: false, signalledMs: undefined }

/** Result for a wake: a pass has observed it, the caller has to signal the run, or the wake is dispatched again at this time. */
export type WakeRoute = 'seen' | 'signal' | Date

/** The wakes that arrived for a run since its current pass started. */
export interface PendingWakes {
  readonly woken: boolean
  /** Numbers of the first journal events of these wakes. Absent: no wakes, or due times only. */
  readonly wokenBy?: readonly number[]
}

export class InFlightRuns {
  /** Keys are workflow IDs. */
  readonly #runs = new Map<string, Run>()
  #acted: (workflowID: string) => void = () => undefined
  readonly #now: () => Date

  constructor(now: () => Date) {
    this.#now = now
  }

  /** A pass starts to observe: it covers all pending wakes. */
  passStarted(workflowID: string): void {
    const run = this.#run(workflowID)
    run.passes++
    run.lastActiveMs = this.#ms()
    for (const [row, version] of run.pending) run.seen.set(row, version)
    run.pending.clear()
    run.pendingEvents.clear()
  }

  /** @param acted is called at the start and at the end of each activity call of a run in this process. */
  onCall(acted: (workflowID: string) => void): void {
    this.#acted = acted
  }

  /** An activity call of the pass starts. @returns a function to call when the activity call ends. */
  callStarted(workflowID: string): (how: 'done' | 'failed') => void {
    const call = { since: this.#ms() }
    this.#touch(workflowID)?.calls.add(call)
    return (how) => {
      // The first call of a run starts before `passStarted`.
      this.#touch(workflowID)?.calls.delete(call)
      if (how === 'done') return
      const run = this.#run(workflowID)
      run.slowestFailureMs = Math.max(run.slowestFailureMs, this.#ms() - call.since)
    }
  }

  #touch(workflowID: string): Run | undefined {
    this.#acted(workflowID)
    const run = this.#runs.get(workflowID)
    if (run?.lastActiveMs !== undefined) run.lastActiveMs = this.#ms()
    return run
  }

  /**
   * Returns the duration of the slowest call of the current pass that failed or is still open, in milliseconds, and resets it. A call that timed out
   * may still be open here.
   */
  takeSlowestCallMs(workflowID: string): number {
    const run = this.#runs.get(workflowID)
    if (run === undefined) return 0
    const now = this.#ms()
    const going = [...run.calls].map(({ since }) => now - since).filter((ms) => ms < 2 * CALL_TIMEOUT_MS)
    const heldMs = Math.max(run.slowestFailureMs, ...going)
    run.slowestFailureMs = 0
    return heldMs
  }

  /** The pass has settled. If wakes are pending, the run starts another pass before it waits. */
  passSettled(workflowID: string): PendingWakes {
    const run = this.#runs.get(workflowID)
    if (run === undefined) return { woken: false }
    run.slowestFailureMs = 0
    run.hadPending = run.pending.size > 0
    if (!run.hadPending) run.lastActiveMs = undefined
    return { woken: run.hadPending, ...(run.pendingEvents.size > 0 && { wokenBy: [...run.pendingEvents] }) }
  }

  /** The caller is about to start the run (A5). */
  runStarted(workflowID: string): void {
    this.#run(workflowID).signalledMs = this.#ms()
  }

  runEnded(workflowID: string): void {
    this.#runs.delete(workflowID)
  }

  /** Decides about a wake of an open run. On `signal` the caller has to signal the run. */
  routeWake(
    { controller, uid, job_id, version, seq }: Pick<Wake, 'controller' | 'uid' | 'job_id' | 'version' | 'seq'>,
    { workflow_id, passes }: Pick<Job, 'workflow_id' | 'passes'>,
  ): WakeRoute {
    const run = this.#run(workflow_id)
    const row = `${controller}/${uid}/${job_id}`
    const now = this.#ms()
    // A2
    if (run.seen.get(row) === version && run.passes === passes) return 'seen'
    if (run.signalled.get(row) === version) return 'seen'
    if (
      run.lastActiveMs !== undefined &&
      now < run.lastActiveMs + (run.calls.size > 0 ? CALL_TIMEOUT_MS : RECHECK_MS)
    ) {
      if (run.hadPending) return defer(run.deferred, row, version, now + SIGNAL_INTERVAL_MS)
      addPendingEvent(run, seq)
      return defer(run.pending, row, version, now + RECHECK_MS)
    }
    const { signalledMs: signalledMs } = run
    if (seq > 0 && signalledMs !== undefined && now < signalledMs + SIGNAL_INTERVAL_MS)
      return defer(run.deferred, row, version, signalledMs + SIGNAL_INTERVAL_MS)
    // The wake itself is not acknowledged: if the signal fails, it is dispatched again.
    run.deferred.delete(row)
    this.#signals(run)
    return 'signal'
  }

  #signals(run: Run): void {
    run.signalledMs = this.#ms()
    for (const [row, version] of run.deferred) run.signalled.set(row, version)
    run.deferred.clear()
  }

  #ms(): number {
    return this.#now().getTime()
  }

  #run(workflowID: string): Run {
    const known = this.#runs.get(workflowID)
    if (known !== undefined) return known
    if (this.#runs.size >= MAX_RUNS) this.#runs.clear()
    const run: Run = {
      ...IDLE,
      calls: new Set(),
      pending: new Map(),
      pendingEvents: new Set(),
      seen: new Map(),
      deferred: new Map(),
      signalled: new Map(),
    }
    this.#runs.set(workflowID, run)
    return run
  }
}

/** @param seq number of the journal event, 0 for a due time. */
function addPendingEvent({ pendingEvents: events }: Run, seq: number): void {
  if (seq > 0 && events.size < MAX_EVENTS) events.add(seq)
}

/** Defers a wake (A6). @param ms earliest time of the next dispatch. */
function defer(wakes: Map<string, number>, row: string, version: number, ms: number): Date {
  const before = wakes.size
  wakes.set(row, version)
  return new Date(ms + Math.max(0, before - MAX_DEFERRED_AT_ONCE) * DEFERRED_INTERVAL_MS)
}

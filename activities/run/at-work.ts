// The runs that are at work in this process: inside a workflow task. What wakes such a run is noted here, and the settle of its pass tells it.
// A signal that arrives while a task completes makes the server void the end of that task. Source: docs/adr/0024.
//
//   A1. Noting only saves time: the wake stays in the journal and comes again after SURE_MS. Then it is done with when a look here has seen it,
//       noted again while the run is at work, and a signal otherwise.
//   A2. A look here may be a ghost's: the process was stopped, and the server gave the task to another, which looked before. So what was seen
//       here counts only while the run's row counts no other looks.
//   A3. A run that did nothing for SURE_MS is not at work here, whatever became of it. While one of its calls goes on it is, as long as a call may take.
//   A4. An object that is touched without end holds no task: the pass that follows a noted wake notes none. They come again after SPACING_MS, when
//       the run may have given its task back.
//   A5. For events a run is signalled once in SPACING_MS at most, and not sooner after its start: it may be at work by then. Due times, which the
//       run asked for itself, are not spaced. What waits for the next signal is done with when that is sent: the look that it leads to sees it.
//   A6. Each of the thousands of items that a run hosts may have a wake of its own. One of them does, so the more of them wait, the later they come again.

import type { Job } from '../journal/write/jobs.ts'
import type { Wake } from '../journal/write/wakes.ts'

/** Longer than most passes, and than most jobs that end. */
const SURE_MS = 2000
const SPACING_MS = 100
// As the time-out of short calls (kit/run/loop/temporal.ts).
const LONGEST_CALL_MS = 30_000
// A6: so many as before, the others at most a hundred a second.
const MOST_AT_ONCE = 100
const APART_MS = 10
// Of runs that ended elsewhere nobody tells; forgotten, those that go on cost a signal.
const MOST_REMEMBERED = 10_000
// It stands in the history of the run.
const MOST_TOLD = 10

interface Run {
  /** Passes that looked, here. */
  looks: number
  /** When it last did something in its pass, in milliseconds; undefined: it waits, or is elsewhere. */
  at: number | undefined
  /** When the calls of activities that go on began. */
  readonly calls: Set<{ readonly since: number }>
  /** The longest call that failed in its pass, in milliseconds. */
  failedMs: number
  /** Versions of the wakes that came since it looked, and of those that came before, by their rows. */
  readonly noted: Map<string, number>
  /** The first of the journal's events behind them. */
  readonly events: Set<number>
  readonly seen: Map<string, number>
  /** Versions of the wakes that wait for the next signal, and of those that had one (A5). */
  readonly waiting: Map<string, number>
  readonly served: Map<string, number>
  /** Its pass is the one after a noted wake (A4). */
  isWoken: boolean
  signalledAt: number | undefined
}

const IDLE = { looks: 0, at: undefined, failedMs: 0, isWoken: false, signalledAt: undefined }

/** What becomes of a wake: its run has seen it, has to be signalled, or is asked again at that time. */
export type Met = 'seen' | 'signal' | Date

/** What came for a run since its pass looked. */
export interface Noted {
  readonly woken: boolean
  /** Numbers of the first of the journal's events behind it. Absent: none, or due times only. */
  readonly wokenBy?: readonly number[]
}

export class AtWork {
  /** By workflow ID. */
  readonly #runs = new Map<string, Run>()
  #acted: (workflowID: string) => void = () => undefined
  readonly #now: () => Date

  constructor(now: () => Date) {
    this.#now = now
  }

  /** A pass begins to look at the world: what was noted before, it sees. */
  looks(workflowID: string): void {
    const run = this.#run(workflowID)
    run.looks++
    run.at = this.#ms()
    for (const [row, version] of run.noted) run.seen.set(row, version)
    run.noted.clear()
    run.events.clear()
  }

  /** @param acted told of each act of a run here. */
  watch(acted: (workflowID: string) => void): void {
    this.#acted = acted
  }

  /** The pass does something. @returns to be called when that is over, and how it went. */
  acts(workflowID: string): (how: 'done' | 'failed') => void {
    const call = { since: this.#ms() }
    this.#touch(workflowID)?.calls.add(call)
    return (how) => {
      // The first call of a run begins before its look is known here.
      this.#touch(workflowID)?.calls.delete(call)
      if (how === 'done') return
      const run = this.#run(workflowID)
      run.failedMs = Math.max(run.failedMs, this.#ms() - call.since)
    }
  }

  #touch(workflowID: string): Run | undefined {
    this.#acted(workflowID)
    const run = this.#runs.get(workflowID)
    if (run?.at !== undefined) run.at = this.#ms()
    return run
  }

  /**
   * For how long a call has held the task of the run's pass, and came to nothing, in milliseconds. Also one that has just been given up, and is
   * not known to have ended.
   */
  takeHeldMs(workflowID: string): number {
    const run = this.#runs.get(workflowID)
    if (run === undefined) return 0
    const now = this.#ms()
    const going = [...run.calls].map(({ since }) => now - since).filter((ms) => ms < 2 * LONGEST_CALL_MS)
    const heldMs = Math.max(run.failedMs, ...going)
    run.failedMs = 0
    return heldMs
  }

  /** The pass is settled. Where a wake was noted since it looked, the run looks again before it waits. */
  settles(workflowID: string): Noted {
    const run = this.#runs.get(workflowID)
    if (run === undefined) return { woken: false }
    run.failedMs = 0
    run.isWoken = run.noted.size > 0
    if (!run.isWoken) run.at = undefined
    return { woken: run.isWoken, ...(run.events.size > 0 && { wokenBy: [...run.events] }) }
  }

  /** The run is about to be started (A5). */
  starts(workflowID: string): void {
    this.#run(workflowID).signalledAt = this.#ms()
  }

  ends(workflowID: string): void {
    this.#runs.delete(workflowID)
  }

  /** A wake for an open run; who is told to signal does so. */
  meets(
    { controller, uid, job_id, version, seq }: Pick<Wake, 'controller' | 'uid' | 'job_id' | 'version' | 'seq'>,
    { workflow_id, passes }: Pick<Job, 'workflow_id' | 'passes'>,
  ): Met {
    const run = this.#run(workflow_id)
    const row = `${controller}/${uid}/${job_id}`
    const now = this.#ms()
    // A2
    if (run.seen.get(row) === version && run.looks === passes) return 'seen'
    if (run.served.get(row) === version) return 'seen'
    if (run.at !== undefined && now < run.at + (run.calls.size > 0 ? LONGEST_CALL_MS : SURE_MS)) {
      if (run.isWoken) return later(run.waiting, row, version, now + SPACING_MS)
      noteEvent(run, seq)
      return later(run.noted, row, version, now + SURE_MS)
    }
    const { signalledAt } = run
    if (seq > 0 && signalledAt !== undefined && now < signalledAt + SPACING_MS)
      return later(run.waiting, row, version, signalledAt + SPACING_MS)
    // Not this one: it comes again for a signal that fails.
    run.waiting.delete(row)
    this.#signals(run)
    return 'signal'
  }

  #signals(run: Run): void {
    run.signalledAt = this.#ms()
    for (const [row, version] of run.waiting) run.served.set(row, version)
    run.waiting.clear()
  }

  #ms(): number {
    return this.#now().getTime()
  }

  #run(workflowID: string): Run {
    const known = this.#runs.get(workflowID)
    if (known !== undefined) return known
    if (this.#runs.size >= MOST_REMEMBERED) this.#runs.clear()
    const run: Run = {
      ...IDLE,
      calls: new Set(),
      noted: new Map(),
      events: new Set(),
      seen: new Map(),
      waiting: new Map(),
      served: new Map(),
    }
    this.#runs.set(workflowID, run)
    return run
  }
}

/** @param seq of the journal's event; 0: a due time. */
function noteEvent({ events }: Run, seq: number): void {
  if (seq > 0 && events.size < MOST_TOLD) events.add(seq)
}

/** A6. @param ms when it comes again at the soonest. */
function later(wakes: Map<string, number>, row: string, version: number, ms: number): Date {
  const before = wakes.size
  wakes.set(row, version)
  return new Date(ms + Math.max(0, before - MOST_AT_ONCE) * APART_MS)
}

// Runs that stay awake for a moment after a pass. What they wait for often comes at once, from another run of the same process; then they go
// on inside the workflow task that they still hold, without a signal and without a task of their own. Source: docs/adr/0010.
//
//   L1. Lingering only saves time. The wake stays in the journal, due a little later: a run that was woken here and then lost its task
//       (the process was stopped, the server gave the task to another) is woken by it.
//   L2. No more than `most` linger at once: each holds a slot for workflow tasks.
//   L3. A wake that was put off is put off again while its run was woken here less than that ago: as a signal it would wait for the end of the
//       task that the run is at work in, and the server refuses the end of a run that has a signal to come.
//   L4. A run that was signalled after its last look does not linger: the signal waits for the end of its task.
//   L5. The dispatcher wakes a run at most once in SPACING_MS: an object that somebody touches without end costs few passes. No wake waits
//       longer than that.

import type { NewWake } from './wakes.ts'

/** When a wake that was given to a lingering run comes again through Temporal. Longer than most jobs that end, and than a pass. */
const SURE_MS = 2000

export interface LingeringOptions {
  /** How many runs may linger at once. */
  readonly most: number
  /** How long a run lingers, in milliseconds; 0 = never. */
  readonly ms: number
}

const SPACING_MS = 100

/** The wakes that a run was given here, as their rows in the journal show them. */
interface Given {
  readonly at: number
  /** When the rows come due, in milliseconds. */
  readonly dues: ReadonlySet<number>
  /** When the dispatcher gave it one, in milliseconds (L5). */
  readonly dispatchedAt?: number | undefined
}

// Runs that ended leave these behind; forgotten, they cost a signal or a short wait.
const MOST_REMEMBERED = 10_000

/** A run, and whose it is: wakes name the subject, or with the job the group. */
export interface LingeringRun {
  readonly workflowID: string
  readonly controller: string
  readonly uid: string
  readonly jobID: string
}

interface Lingerer {
  readonly run: LingeringRun
  timer: NodeJS.Timeout
  readonly end: (woken: boolean) => void
  /** It does nothing else. */
  readonly isIdle: boolean
  /** When it is to be woken, in milliseconds, once the dispatcher has a wake for it (L5). */
  wakeAt?: number
}

export class Lingering {
  readonly #options: LingeringOptions
  /** By workflow ID. */
  readonly #lingerers = new Map<string, Lingerer>()
  /** Runs that do nothing but linger. */
  #idle = 0
  readonly #given = new Map<string, Given>()
  readonly #signalled = new Set<string>()
  #stopped = false

  constructor(options: LingeringOptions) {
    this.#options = options
  }

  /** How many runs linger now. */
  get count(): number {
    return this.#lingerers.size
  }

  /**
   * Waits for work of the run itself: until it ends, at most `ms`, and no longer than until the run is woken here.
   *
   * @returns whether it was woken. @throws as `work`
   */
  async beside(run: LingeringRun, work: Promise<unknown>, ms: number): Promise<boolean> {
    const { workflowID } = run
    if (this.#stopped || this.#lingerers.has(workflowID)) return false
    const woken = this.#until(run, ms, false)
    const lingerer = this.#lingerers.get(workflowID)
    const isTaken = () => this.#lingerers.get(workflowID) !== lingerer
    try {
      if (await Promise.race([woken, work.then(() => false)])) return true
      // Its wake may have been put off for it just before the work ended (L1): then it counts, as soon as it is journaled.
      return isTaken() ? await woken : lingerer?.wakeAt !== undefined
    } finally {
      if (!isTaken()) this.#take(workflowID)
    }
  }

  /** The run looks at the world: what it was signalled for before, it sees now (L4). */
  looks(workflowID: string): void {
    this.#signalled.delete(workflowID)
  }

  /** Whether a signal waits for the end of the run's task (L4). */
  isSignalled(workflowID: string): boolean {
    return this.#signalled.has(workflowID)
  }

  /** Waits until the run is woken here, or its time is over. @returns whether it was woken. */
  async wait(run: LingeringRun): Promise<boolean> {
    const { most, ms } = this.#options
    const { workflowID } = run
    if (this.#signalled.delete(workflowID)) return false
    if (this.#stopped || ms === 0 || this.#idle >= most || this.#lingerers.has(workflowID)) return false
    return await this.#until(run, ms, true)
  }

  #until(run: LingeringRun, ms: number, isIdle: boolean): Promise<boolean> {
    const { workflowID } = run
    return new Promise((end) => {
      const timer = setTimeout(() => this.#take(workflowID)?.end(false), ms)
      this.#lingerers.set(workflowID, { run, timer, end, isIdle })
      if (isIdle) this.#idle++
    })
  }

  /**
   * Wakes the run if it lingers here.
   *
   * @param due of its wake.
   * @returns when the wake is to come again (L1, L3); undefined when the run does not linger and has to be signalled.
   */
  wake(workflowID: string, now: Date, due: Date): Date | undefined {
    const given = this.#given.get(workflowID)
    const lingerer = this.#lingerers.get(workflowID)
    if (lingerer !== undefined) {
      lingerer.wakeAt ??= this.#wakeFrom(workflowID, lingerer, now.getTime(), given?.dispatchedAt)
      return this.#give(workflowID, now, lingerer.wakeAt)
    }
    if (given !== undefined && given.dues.has(due.getTime()) && now.getTime() < given.at + SURE_MS) {
      const again = new Date(given.at + SURE_MS)
      this.#given.set(workflowID, { ...given, dues: new Set([...given.dues, again.getTime()]) })
      return again
    }
    this.#given.delete(workflowID)
    remember(this.#signalled).add(workflowID)
    return undefined
  }

  /**
   * For wakes that are about to be journaled: those of lingering runs are put off (L1), and these runs go on with `release`, which has to be
   * called after the commit, or when there is none.
   */
  hold(wakes: readonly NewWake[], now: Date): { readonly wakes: readonly NewWake[]; readonly release: () => void } {
    const held: Lingerer[] = []
    const put = wakes.map((wake) => {
      const runs = this.#runsOf(wake)
      held.push(...runs.flatMap((workflowID) => this.#take(workflowID) ?? []))
      for (const workflowID of runs) this.#give(workflowID, now)
      return runs.length === 0 || wake.due > later(now) ? wake : { ...wake, due: later(now) }
    })
    return {
      wakes: put,
      release: () => {
        for (const { end } of held) end(true)
      },
    }
  }

  /** Nobody lingers any more: the process drains. */
  stop(): void {
    this.#stopped = true
    for (const workflowID of [...this.#lingerers.keys()]) this.#take(workflowID)?.end(false)
  }

  #runsOf({ controller, uid, job_id }: Pick<NewWake, 'controller' | 'uid' | 'job_id'>): readonly string[] {
    return [...this.#lingerers.values()].flatMap(({ run }) =>
      run.controller === controller && run.uid === uid && (job_id === '' || run.jobID === job_id)
        ? [run.workflowID]
        : [],
    )
  }

  /** @returns when the run is woken (L5). */
  #wakeFrom(workflowID: string, lingerer: Lingerer, nowMs: number, dispatchedAt = 0): number {
    const waitMs = Math.min(SPACING_MS, Math.max(0, dispatchedAt + SPACING_MS - nowMs))
    const wake = () => this.#take(workflowID)?.end(true)
    clearTimeout(lingerer.timer)
    if (waitMs === 0) wake()
    else lingerer.timer = setTimeout(wake, waitMs)
    return nowMs + waitMs
  }

  #give(workflowID: string, now: Date, dispatchedAt?: number): Date {
    const due = later(now)
    const before = this.#given.get(workflowID)
    const earlier = [...(before?.dues ?? [])].filter((one) => one > now.getTime() - SURE_MS)
    remember(this.#given).set(workflowID, {
      at: now.getTime(),
      dues: new Set([...earlier, due.getTime()]),
      dispatchedAt: dispatchedAt ?? before?.dispatchedAt,
    })
    return due
  }

  #take(workflowID: string): Lingerer | undefined {
    const lingerer = this.#lingerers.get(workflowID)
    clearTimeout(lingerer?.timer)
    if (lingerer?.isIdle === true) this.#idle--
    this.#lingerers.delete(workflowID)
    return lingerer
  }
}

function remember<Memory extends Map<string, Given> | Set<string>>(memory: Memory): Memory {
  if (memory.size >= MOST_REMEMBERED) memory.clear()
  return memory
}

function later(now: Date): Date {
  return new Date(now.getTime() + SURE_MS)
}

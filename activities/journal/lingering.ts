// Runs that stay awake for a moment after a pass. What they wait for often comes at once, from another run of the same process; then they go
// on inside the workflow task that they still hold, without a signal and without a task of their own. Source: docs/adr/0010.
//
//   L1. Lingering only saves time. The wake stays in the journal, due a little later: a run that was woken here and then lost its task
//       (the process was stopped, the server gave the task to another) is woken by it.
//   L2. No more than `most` linger at once: each holds a slot for workflow tasks.

import type { NewWake } from './wakes.ts'

/** When a wake that was given to a lingering run comes again through Temporal. Longer than most jobs that end, and than a pass. */
const SURE_MS = 2000

export interface LingeringOptions {
  /** How many runs may linger at once. */
  readonly most: number
  /** How long a run lingers, in milliseconds; 0 = never. */
  readonly ms: number
}

interface Lingerer {
  readonly timer: NodeJS.Timeout
  readonly end: (woken: boolean) => void
}

export class Lingering {
  readonly #options: LingeringOptions
  /** By workflow ID, `<controller>/<uid>/<jobID>`. */
  readonly #lingerers = new Map<string, Lingerer>()
  #stopped = false

  constructor(options: LingeringOptions) {
    this.#options = options
  }

  /** How many runs linger now. */
  get count(): number {
    return this.#lingerers.size
  }

  /** Waits until the run is woken here, or its time is over. @returns whether it was woken. */
  async wait(workflowID: string): Promise<boolean> {
    const { most, ms } = this.#options
    if (this.#stopped || ms === 0 || this.#lingerers.size >= most || this.#lingerers.has(workflowID)) return false
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => {
        this.#lingerers.delete(workflowID)
        resolve(false)
      }, ms)
      this.#lingerers.set(workflowID, { timer, end: resolve })
    })
  }

  /** Wakes the run if it lingers here. @returns when its wake is to come again through Temporal (L1); undefined when it does not linger. */
  wake(workflowID: string, now: Date): Date | undefined {
    const lingerer = this.#take(workflowID)
    lingerer?.end(true)
    return lingerer && later(now)
  }

  /**
   * For wakes that are about to be journaled: those of lingering runs are put off (L1), and these runs go on with `release`, which has to be
   * called after the commit, or when there is none.
   */
  hold(wakes: readonly NewWake[], now: Date): { readonly wakes: readonly NewWake[]; readonly release: () => void } {
    const held: Lingerer[] = []
    const put = wakes.map((wake) => {
      const runs = this.#runsOf(wake).flatMap((workflowID) => this.#take(workflowID) ?? [])
      held.push(...runs)
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
    if (job_id !== '') return [`${controller}/${uid}/${job_id}`]
    return [...this.#lingerers.keys()].filter((workflowID) => workflowID.startsWith(`${controller}/${uid}/`))
  }

  #take(workflowID: string): Lingerer | undefined {
    const lingerer = this.#lingerers.get(workflowID)
    clearTimeout(lingerer?.timer)
    this.#lingerers.delete(workflowID)
    return lingerer
  }
}

function later(now: Date): Date {
  return new Date(now.getTime() + SURE_MS)
}

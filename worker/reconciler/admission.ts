// Jobs that wait for their turn. What is asked for in one go is not begun in one go: a job that was begun has three runs, which take turns in
// the memory of workers and in the queues of Temporal with all the others, so that the first of many would end when the last was begun.
//
//   N1. Only jobs that begin by themselves wait, never what a begun job needs to go on: no job waits for one that may not begin.
//   N2. A place is free as soon as the first pass of its run has begun, wherever that is; however long the job takes, it holds none.
//   N3. A place is given up after LONGEST_MS: nothing is held up for good by a run that nobody serves.

export interface AdmissionOptions {
  /** How many runs may be without their first pass, of those that were started here. */
  readonly most: number
  /** Which of these runs have had a pass, or are over. */
  readonly begun: (workflowIDs: readonly string[]) => Promise<readonly string[]>
}

const LONGEST_MS = 60_000
// Other workers take runs too; what they have begun is asked for when all places are taken.
const ASK_EVERY_MS = 100
// Those that wait come again one after the other, somewhat faster than they have begun lately: each that finds no place costs two statements.
const SOONEST_MS = 100
const SPACING_MS = { least: 5, first: 40, most: 100 }
const HASTE = 1.5
// How fast that is, is measured over this long, or this many.
const MEASURED = { ms: 2000, begun: 20 }

export class Admission {
  readonly #options: AdmissionOptions
  /** By workflow ID, when its run was started, in milliseconds. */
  readonly #started = new Map<string, number>()
  #askedAt = 0
  #begunSince = { ms: 0, count: 0 }
  #spacingMs = SPACING_MS.first
  /** When the last of those that wait comes again. */
  #lastDue = 0
  #asking: Promise<void> | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /**
   * Takes a place for the run that is about to be started.
   *
   * @returns when to ask again, when there is none. @throws when what others have begun cannot be asked for.
   */
  async take(workflowID: string, now: () => Date): Promise<Date | undefined> {
    if (this.#isFull()) await this.#ask(now)
    const nowMs = now().getTime()
    if (this.#isFull()) {
      this.#lastDue = Math.max(this.#lastDue + this.#spacingMs, nowMs + SOONEST_MS)
      return new Date(this.#lastDue)
    }
    this.#started.set(workflowID, nowMs)
    return undefined
  }

  /** The run has begun its first pass, or there is none. */
  leave(workflowID: string): void {
    if (this.#started.delete(workflowID)) this.#begunSince.count++
  }

  #isFull(): boolean {
    return this.#started.size >= this.#options.most
  }

  async #ask(now: () => Date): Promise<void> {
    this.#asking ??= this.#askNow(now().getTime()).finally(() => {
      this.#asking = undefined
    })
    await this.#asking
  }

  async #askNow(nowMs: number): Promise<void> {
    if (nowMs < this.#askedAt + ASK_EVERY_MS) return
    // For long nobody had to wait: what was measured is no guide.
    if (nowMs > this.#askedAt + 2 * MEASURED.ms) {
      this.#spacingMs = SPACING_MS.first
      this.#begunSince = { ms: nowMs, count: 0 }
    }
    this.#askedAt = nowMs
    const stale = [...this.#started].filter(([, at]) => at + LONGEST_MS <= nowMs).map(([workflowID]) => workflowID)
    const begun = await this.#options.begun([...this.#started.keys()])
    for (const workflowID of [...begun, ...stale]) this.leave(workflowID)
    this.#measure(nowMs)
  }

  #measure(nowMs: number): void {
    const { ms, count } = this.#begunSince
    if (nowMs < ms + MEASURED.ms && count < MEASURED.begun) return
    this.#spacingMs = Math.max(SPACING_MS.least, Math.min(SPACING_MS.most, (nowMs - ms) / count / HASTE))
    this.#begunSince = { ms: nowMs, count: 0 }
  }
}

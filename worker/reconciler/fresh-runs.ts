// Runs that this dispatcher has started or woken and that have not begun, or looked again: they stand in Temporal's queue, first come, first served. Few may, so that what
// another namespace asks for next has little before it. Source: docs/adr/0028.
//
//   R1. A run has begun with its first local activity: here that is seen at once, in another process by the passes that its row counts.
//   R2. Nobody is waited for longer than LONGEST_MS: when no worker serves the queue, starts go on at that pace.

import type { InFlightRuns } from '../../activities/run/in-flight-runs.ts'

/** Enough for all slots of workflow tasks to find the next one when they are free. */
const MOST_FRESH = 6
const LONGEST_MS = 10_000
const LOOK_MS = 500
/** How many starts are remembered for the turns of namespaces. */
const REMEMBERED = 64

export interface FreshRunsDeps {
  readonly inFlightRuns: InFlightRuns
  /**
   * @param passes by workflow ID, how many passes are known of.
   * @returns those whose runs have made more, by their rows, or have ended. @throws when the journal cannot be read.
   */
  readonly begun: (passes: ReadonlyMap<string, number>) => Promise<readonly string[]>
}

interface Waits {
  readonly ends: Set<() => void>
  /** Of its run, when the first wait began. */
  readonly passes: number
}

export class FreshRuns {
  readonly #deps: FreshRunsDeps
  /** By workflow ID: what ends the waits. In level mode, and where two wakes lead to one run, several may be for one. */
  readonly #waiting = new Map<string, Waits>()
  /** Namespaces of the last starts. */
  readonly #turns: string[] = []
  #taken = 0
  #timer: NodeJS.Timeout | undefined

  constructor(deps: FreshRunsDeps) {
    this.#deps = deps
    deps.inFlightRuns.onCall((workflowID) => this.forget(workflowID))
  }

  /** How many wakes that may start a run may be taken. */
  get free(): number {
    return Math.max(0, MOST_FRESH - this.#taken)
  }

  /** How many of the last starts each namespace had. */
  turns(): Record<string, number> {
    // A map: namespaces may be called as what every object has, such as `constructor`.
    const turns = new Map<string, number>()
    for (const namespace of this.#turns) turns.set(namespace, (turns.get(namespace) ?? 0) + 1)
    return Object.fromEntries(turns)
  }

  /** A wake was taken that may start a run. @returns to be called when it is known that it starts none, or that the run has begun. */
  take(namespace: string): () => void {
    this.#taken++
    this.#turns.push(namespace)
    if (this.#turns.length > REMEMBERED) this.#turns.shift()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#taken--
    }
  }

  /**
   * The run is about to be started or woken.
   *
   * @param passes how many it has made by its row, where it is woken.
   * @param late called when it has not begun for LONGEST_MS.
   * @returns resolves when it has begun another pass, here or elsewhere (R1, R2), or `forget` is called.
   */
  async expect(
    workflowID: string,
    { passes = 0, late }: { readonly passes?: number; readonly late?: () => void } = {},
  ): Promise<void> {
    const waits = this.#waiting.get(workflowID) ?? { ends: new Set(), passes }
    this.#waiting.set(workflowID, waits)
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    await new Promise<void>((resolve) => {
      waits.ends.add(resolve)
      setTimeout(() => {
        if (this.#waiting.get(workflowID) === waits) late?.()
        resolve()
      }, LONGEST_MS).unref()
    })
    if (this.#waiting.get(workflowID) === waits) this.forget(workflowID)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The run has begun, or does not begin. */
  forget(workflowID: string): void {
    const waits = this.#waiting.get(workflowID)
    if (waits === undefined) return
    this.#waiting.delete(workflowID)
    for (const end of waits.ends) end()
  }

  async #look(): Promise<void> {
    try {
      const passes = new Map([...this.#waiting].map(([workflowID, waits]) => [workflowID, waits.passes] as const))
      for (const workflowID of await this.#deps.begun(passes)) this.forget(workflowID)
    } catch {
      // The dispatcher tells that the journal is away; R2 ends the wait.
    }
  }
}

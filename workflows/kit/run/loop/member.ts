// What a run remembers of one object whose job it runs: the run's own subject, or a child that it hosts. Its state goes from pass to pass, and
// work that takes longer than a pass goes on beside them, on tracks.

import type { JobController, JobInput, JobPass, JobState } from '../job.ts'
import type { By } from '../subject.ts'
import type { SettledTarget } from '../status-change.ts'
import { createTracks, type TrackSet } from '../tracks.ts'
import { startWork, temporalRuntime } from './temporal.ts'

export interface MemberHooks {
  /** Another pass is wanted. */
  readonly wake: () => void
  /** What people see of the run is to be shown anew. */
  readonly show: () => void
}

/** What a pass is of, beside the object itself. */
export interface PassFrame extends Pick<JobInput, 'subject' | 'jobID'> {
  readonly by: By
}

export class Member<State extends JobState, Act> {
  readonly tracks: TrackSet<State>
  readonly #controller: JobController<State, Act>
  readonly #hooks: MemberHooks
  #latest: JobPass<State, Act> | undefined

  constructor(controller: JobController<State, Act>, hooks: MemberHooks) {
    this.#controller = controller
    this.#hooks = hooks
    this.tracks = createTracks<State>({
      start: startWork,
      toOutcome: (error) => temporalRuntime.toOutcome(error),
      ended: (change) => {
        if (this.#latest === undefined) return
        this.#latest.state = change(this.#latest.state)
        hooks.show()
        // What waited for it may begin.
        hooks.wake()
      },
      wake: hooks.wake,
    })
  }

  /** As the last pass left it; undefined before the first. */
  get state(): State | undefined {
    return this.#latest?.state
  }

  /** A pass that starts from what was observed. */
  start({ subject, jobID, by }: PassFrame, state: State): JobPass<State, Act> {
    const { phase, observedGeneration, lastError } = state.target
    const { act } = this.#controller
    const { wake } = this.#hooks
    const pass: JobPass<State, Act> = {
      subject,
      jobID,
      by,
      act,
      state,
      tracks: this.tracks,
      wake,
      hosted: [],
      draft: { phase, observedGeneration, lastError, conditions: [], marks: [], fields: {} },
    }
    this.#latest = pass
    return pass
  }

  /** Takes the target as settle left it. */
  settled(target: Partial<SettledTarget>): void {
    if (this.#latest === undefined) return
    const { state } = this.#latest
    this.#latest.state = { ...state, target: { ...state.target, ...target } }
  }

  /** Names and uids by which people find the run; none before the first pass. */
  found(): readonly string[] {
    if (this.#latest === undefined) return []
    const { subject, state } = this.#latest
    return [subject.uid, subject.name, ...(this.#controller.found?.(state) ?? [])]
  }

  /** Markdown for people; empty before the first pass. */
  details(): string {
    return this.#latest === undefined ? '' : this.#controller.details(this.#latest)
  }
}

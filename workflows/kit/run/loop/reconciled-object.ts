// What a run remembers of one object whose job it runs: the run's own subject, or a child that it hosts. Its state goes from pass to pass, and
// work that takes longer than a pass goes on beside them, on tracks.

import type { JobController, JobInput, JobPass, JobState } from '../job/job.ts'
import type { By } from '../subject.ts'
import type { SettledTarget } from '../job/job-status.ts'
import { createBackgroundActivities, type BackgroundActivitySet } from '../job/background-activities.ts'
import { startWork, temporalRuntime } from './temporal.ts'

export interface ObjectHooks {
  /** Another pass is wanted. */
  readonly wake: () => void
  /** What people see of the run is to be shown anew. */
  readonly show: () => void
}

/** What a pass is of, beside the object itself. */
export interface PassIdentity extends Pick<JobInput, 'subject' | 'jobID'> {
  readonly by: By
}

export class ReconciledObject<State extends JobState, Act> {
  readonly background: BackgroundActivitySet<State>
  readonly #controller: JobController<State, Act>
  readonly #hooks: ObjectHooks
  #latest: JobPass<State, Act> | undefined

  constructor(controller: JobController<State, Act>, hooks: ObjectHooks) {
    this.#controller = controller
    this.#hooks = hooks
    this.background = createBackgroundActivities<State>({
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
  start({ subject, jobID, by }: PassIdentity, state: State): JobPass<State, Act> {
    const { phase, observedGeneration, lastError } = state.target
    const { act } = this.#controller
    const { wake } = this.#hooks
    const pass: JobPass<State, Act> = {
      subject,
      jobID,
      by,
      act,
      state,
      background: this.background,
      wake,
      hosted: [],
      draft: { phase, observedGeneration, lastError, conditions: [], marks: [], fields: {} },
    }
    this.#latest = pass
    return pass
  }

  /** Takes the target as settle left it. */
  applySettled(target: Partial<SettledTarget>): void {
    if (this.#latest === undefined) return
    const { state } = this.#latest
    this.#latest.state = { ...state, target: { ...state.target, ...target } }
  }

  /** Names and uids by which people find the run; none before the first pass. */
  searchAttributes(): readonly string[] {
    if (this.#latest === undefined) return []
    const { subject, state } = this.#latest
    return [subject.uid, subject.name, ...(this.#controller.searchAttributes?.(state) ?? [])]
  }

  /** Markdown for people; empty before the first pass. */
  details(): string {
    return this.#latest === undefined ? '' : this.#controller.details(this.#latest)
  }
}

// State of one object whose job a run executes: the run's own object or a hosted child. Keeps the state between passes and owns the background
// activities.

import type { JobController, JobInput, JobPass, JobState } from '../job/job.ts'
import type { By } from '../subject.ts'
import type { SettledTarget } from '../job/job-status.ts'
import { createBackgroundActivities, type BackgroundActivitySet } from '../job/background-activities.ts'
import { startWork, temporalRuntime } from './temporal.ts'

export interface ObjectHooks {
  /** Requests another pass. */
  readonly wake: () => void
  /** Updates the run's details in the Temporal UI. */
  readonly show: () => void
}

/** The object, job and pass. */
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
        // Steps that waited for the work may start.
        hooks.wake()
      },
      wake: hooks.wake,
    })
  }

  /** The state after the last pass; undefined before the first. */
  get state(): State | undefined {
    return this.#latest?.state
  }

  /** Starts a pass from the observed state. */
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

  /** Updates the state after settle. */
  applySettled(target: Partial<SettledTarget>): void {
    if (this.#latest === undefined) return
    const { state } = this.#latest
    this.#latest.state = { ...state, target: { ...state.target, reportsBug: undefined, ...target } }
  }

  /** Values of the run's search attribute; none before the first pass. */
  searchAttributes(): readonly string[] {
    if (this.#latest === undefined) return []
    const { subject, state } = this.#latest
    return [subject.uid, subject.name, ...(this.#controller.searchAttributes?.(state) ?? [])]
  }

  /** Markdown for the Temporal UI; empty before the first pass. */
  details(): string {
    return this.#latest === undefined ? '' : this.#controller.details(this.#latest)
  }
}

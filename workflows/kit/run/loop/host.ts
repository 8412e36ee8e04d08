// Hosts the passes of children inside the run of their parent's job and settles them with it, children before parents.
// Source: docs/concepts/architecture.md "Hosted children".
//
//   H1. A child's job starts with its first status write; the parent does not write the job ID before.
//   H2. Requests of a child's pass (another pass, a back-off) become requests of the run. Writes of its steps are own writes of the run.

import type { HostedProgress, JobController, JobPass, JobState } from '../job/job.ts'
import type { HostedResult } from '../job/job-status.ts'
import type { By, Subject } from '../subject.ts'
import { retryable } from '../next-pass.ts'
import { type Progress, runPhases } from '../job/phases.ts'
import { hostedChange } from '../job/settle.ts'
import { done, joinOutcomes } from '../../plan/outcome.ts'
import type { BackgroundActivitySet } from '../job/background-activities.ts'
import { ReconciledObject, type ObjectHooks } from './reconciled-object.ts'
import { runOnTemporal } from './temporal.ts'

/** The parent's part of a pass. */
type Host = Pick<JobPass<JobState>, 'by' | 'jobID' | 'subject' | 'hosted'>

/** The parts of a host that the root's run needs. */
export interface HostedWork {
  attach(hooks: ObjectHooks): void
  readonly background: Pick<BackgroundActivitySet<never>, 'running' | 'stop'> | undefined
  details(): string
  /** Like `ReconciledObject.searchAttributes`. */
  searchAttributes(): readonly string[]
}

/** Runs passes of one controller's objects inside another run; one instance per run and kind of child. */
export class Hosting<State extends JobState, Act> implements HostedWork {
  readonly #name: string
  readonly #controller: JobController<State, Act>
  #member: ReconciledObject<State, Act> | undefined

  /** @param name the controller of the hosted objects. */
  constructor(name: string, controller: JobController<State, Act>) {
    this.#name = name
    this.#controller = controller
  }

  attach(hooks: ObjectHooks): void {
    this.#member = new ReconciledObject(this.#controller, hooks)
  }

  get background(): BackgroundActivitySet<State> | undefined {
    return this.#member?.background
  }

  details(): string {
    return this.#member?.details() ?? ''
  }

  searchAttributes(): readonly string[] {
    return this.#member?.searchAttributes() ?? []
  }

  /** The child's state after the last pass and background activities. */
  get state(): State | undefined {
    return this.#member?.state
  }

  /**
   * Runs one pass over the child within a pass of its host and adds the result to the host's pass.
   *
   * @param state the child as the host observed it.
   */
  async pass(host: Host, subject: Subject, state: State): Promise<HostedProgress<State>> {
    const member = this.#member
    if (member === undefined) throw new Error(`the run hosts no ${this.#name}: it was not attached`)
    const { jobID } = host
    const { jobIDFinished, phase } = state.target
    // An earlier pass wrote the child's end but not its own.
    if (jobIDFinished === jobID) return { outcome: done, result: phase ?? 'Finished', state, draft: undefined }
    const pass = member.start({ subject, jobID, by: this.#by(host, subject) }, state)
    if (state.target.jobID !== jobID) {
      pass.draft.phase = undefined
      pass.draft.marks.push('triggerTime')
    } else this.#controller.resume?.(pass)
    const { plan, hooks } = this.#controller
    const progress = await runPhases(plan, pass, (step) => runOnTemporal(step, pass, hooks))
    host.hosted.push(...pass.hosted, this.#end(member, pass, progress))
    return { ...progress, state: pass.state, draft: pass.draft }
  }

  #by({ by, subject: { uid: host } }: Host, { uid }: Subject): By {
    return { ...by, controller: this.#name, tree: [...new Set([...(by.tree ?? [host]), uid])] }
  }

  #end(member: ReconciledObject<State, Act>, pass: JobPass<State, Act>, { outcome, result }: Progress): HostedResult {
    const { by, subject } = pass
    const change = result === 'Deleted' ? undefined : hostedChange(pass, this.#controller.plan.finalPhases)
    const wanted = retryable(joinOutcomes(outcome, member.background.takeFailures()))
    return {
      by,
      subject,
      isGone: result === 'Deleted',
      change,
      outcome: wanted,
      applySettled: (target) => member.applySettled(target),
    }
  }
}

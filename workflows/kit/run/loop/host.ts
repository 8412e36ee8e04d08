// A child whose job is its parent's is hosted: its passes run inside those of the parent's run, and what they come to is settled with them, the
// child before the parent. Source: docs/architecture.md "Hosted children".
//
//   H1. The child's job begins with its first status write; nothing hands its job ID down before.
//   H2. What a pass of the child wants (another pass, a back-off) is the run's to want. What its steps write of other objects is the run's own.

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

/** The parent's side of a pass. */
type Host = Pick<JobPass<JobState>, 'by' | 'jobID' | 'subject' | 'hosted'>

/** What the run of the root needs of what it hosts. */
export interface HostedWork {
  attach(hooks: ObjectHooks): void
  readonly background: Pick<BackgroundActivitySet<never>, 'running' | 'stop'> | undefined
  details(): string
  /** As of a `Member`. */
  searchAttributes(): readonly string[]
}

/** Runs the passes of a controller's objects inside other runs. One for each run and kind of child. */
export class Hosting<State extends JobState, Act> implements HostedWork {
  readonly #name: string
  readonly #controller: JobController<State, Act>
  #member: ReconciledObject<State, Act> | undefined

  /** @param name of the controller whose objects are hosted. */
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

  /** Of the child, as the last pass and what went on beside it have left it. */
  get state(): State | undefined {
    return this.#member?.state
  }

  /**
   * One pass over the child, within one of its host; its end is noted in the host's pass.
   *
   * @param state as the host has observed it.
   */
  async pass(host: Host, subject: Subject, state: State): Promise<HostedProgress<State>> {
    const member = this.#member
    if (member === undefined) throw new Error(`the run hosts no ${this.#name}: it was not attached`)
    const { jobID } = host
    const { jobIDFinished, phase } = state.target
    // Its end was written in a pass whose own end was not.
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

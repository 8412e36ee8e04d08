// Controllers in job mode: what they observe, their phases, and the status draft of a pass. Types only; loop/run-job.ts
// runs them on Temporal, unit tests with fake activities.

import type { ConditionChange } from '../conditions.ts'
import type { HostedResult, StatusFields } from './job-status.ts'
import type { HandledPartitions } from '../partitions.ts'
import type { LatestTime } from '../level/latest-time.ts'
import type { By, ErrorReport, Subject, TargetView, TransitionMark } from '../subject.ts'
import type { Fault, Outcome } from '../../plan/outcome.ts'
import type { Step, StepHooks } from '../../plan/step.ts'
import type { BackgroundActivities } from './background-activities.ts'

/**
 * Input of a job's workflow. The handled partitions are part of it, so that they stay the same on every worker and over continue-as-new. Field names
 * are
 * part of recorded histories.
 */
export interface JobInput extends HandledPartitions {
  readonly subject: Subject
  readonly jobID: string
  /** The reason of the job, for users. */
  readonly cause: string
  /** The idle object that requests the job, from the journal. Absent for a job that was started or handed down before. */
  readonly asked?: NewJobTarget
  /** Latest known time of the run that this one continues. */
  readonly latest?: LatestTime
}

/** The observed object of a new job: the first write uses its version as precondition, so no read is needed. */
export type NewJobTarget = Pick<TargetView, 'version' | 'generation' | 'deleting' | 'jobID'> & {
  /** The result of `JobRequest.onBegin`; the field is part of recorded histories. */
  readonly begun?: StatusFields
}

/** The status that settle will write. Steps change it through the pass; settle writes only differences. */
export interface StatusDraft {
  phase: string | undefined
  observedGeneration: number
  lastError: ErrorReport | undefined
  readonly conditions: ConditionChange[]
  readonly marks: TransitionMark[]
  /** Further status fields of the kind, such as `executionRef`. */
  readonly fields: Record<string, unknown>
}

export interface JobState {
  readonly target: TargetView
}

export interface JobPass<State extends JobState, Act = unknown> {
  readonly subject: Subject
  readonly jobID: string
  readonly by: By
  /** The controller's activities; fakes in unit tests. */
  readonly act: Act
  /** The observed state. A step that writes puts the result here for the next step. */
  state: State
  readonly draft: StatusDraft
  /** Starts work that takes longer than a pass may. */
  readonly background: BackgroundActivities<State>
  /** Requests another pass, for a change that this pass has not observed. */
  readonly wake: () => void
  /** Results of the passes of hosted children, children before parents; settled before this object's status. */
  readonly hosted: HostedResult[]
}

/** The result of a pass over a hosted child, for its host. */
export interface HostedProgress<State> {
  readonly outcome: Outcome
  /** The final phase; undefined while the job runs. */
  readonly result: string | undefined
  readonly state: State
  /** The status draft; undefined when the job had ended before. */
  readonly draft: StatusDraft | undefined
}

export interface Phase<Pass> {
  readonly step: Step<Pass>
  /** The phase after the step is done; only a step leaves a phase without next. */
  readonly next: string
}

export interface JobPlan<Pass> {
  readonly kind: string
  /** In the order of diagrams. */
  readonly phases: Readonly<Record<string, Phase<Pass>>>
  readonly finalPhases: readonly string[]
  /** Step before the final status write: the job continues until the step is done. The draft contains the final phase. */
  readonly ending?: Step<Pass>
  /** The first phase. */
  readonly first: (deleting: boolean) => string
  /** The phase after a final fault. */
  readonly failed: (phase: string) => string
  /** Formats faults for the status. Default: the phase, the first fault's code, and all messages. */
  readonly report?: (phase: string, faults: readonly Fault[]) => ErrorReport
}

export interface JobController<State extends JobState, Act> {
  readonly plan: JobPlan<JobPass<State, Act>>
  readonly act: Act
  /**
   * Reads the object and the declared state; undefined when the object was deleted or recreated.
   * `latest` returns the run's state, undefined before the first pass; background activities may change it meanwhile.
   */
  observe(act: Act, input: JobInput, by: By, latest: () => State | undefined): Promise<State | undefined>
  /**
   * The first writes of a job, called in every pass: first the status, then the metadata. Ends with `stop(SUPERSEDED)` when another run has the job,
   * and with
   * `stop(FINALIZER_ADDED)` when no job was requested. Absent where job IDs always come from a parent.
   */
  readonly begin?: (pass: JobPass<State, Act>) => Promise<Outcome>
  /** Called for a hosted object that already has the job: removes fields from the draft that another controller left. */
  readonly resume?: (pass: JobPass<State, Act>) => void
  /** Called around every step of the plan. */
  readonly hooks?: StepHooks<JobPass<State, Act>>
  /** Markdown for the run's details in the Temporal UI. */
  readonly details: (pass: JobPass<State, Act>) => string
  /** Values of the run's search attribute besides its object: names and uids of hosted objects, most important first. Default: none. */
  readonly searchAttributes?: (state: State) => readonly string[]
}

export type StepPass<State, Act> = Pick<JobPass<JobState, Act>, 'subject' | 'jobID' | 'by' | 'act'> & {
  state: State
  readonly background: BackgroundActivities<State>
}

/** The job fields of an object's status. */
export type ShownJob = Pick<TargetView, 'jobID' | 'jobIDFinished' | 'phase'> & {
  readonly lastError: Pick<ErrorReport, 'reason' | 'message'> | undefined
}

/** A controller whose actions write the whole status themselves, including phases and the end of the job: its passes have no draft. */
export interface StepController<State, Act> {
  readonly act: Act
  /** Like `JobController.observe`. */
  observe(act: Act, input: JobInput, by: By, latest: () => State | undefined): Promise<State | undefined>
  /** Runs in every pass. Ends the run with `stop(SUPERSEDED)`, `stop(FINALIZER_ADDED)` or `stop(HANDED_DOWN)`. */
  readonly step: Step<StepPass<State, Act>>
  /** The object after the steps; undefined when it was deleted. */
  readonly shown: (state: State) => ShownJob | undefined
  /** The final phases of failed jobs. */
  readonly failedPhases: readonly string[]
  /** Called around every step. */
  readonly hooks?: StepHooks<StepPass<State, Act>>
  readonly details: (pass: StepPass<State, Act>) => string
}

/** The operation of an error before the first writes of a job succeed. */
export const BEGIN_OPERATION = 'Begin'

/** Stop reason of `begin`: another run has the job. */
export const SUPERSEDED = 'superseded'

/** Stop reason of `begin`: the object requests no job, and has its finalizer now. The value is part of recorded histories. */
export const FINALIZER_ADDED = 'guarded'

/** Stop reason of a step: the job has started and another program executes it. */
export const HANDED_DOWN = 'handed down'

/** Stop reason of a step: the object was deleted, because its finalizer was the last one. */
export const GONE = 'gone'

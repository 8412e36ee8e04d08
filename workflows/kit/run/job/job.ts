// The shape of a controller that runs jobs: what it observes, its phases, and the draft of the status that a pass settles.
// Pure data and types; loop/run-job.ts and run-steps.ts run it on Temporal, unit tests run it with a fake.

import type { ConditionChange } from '../conditions.ts'
import type { HostedResult, StatusFields } from './job-status.ts'
import type { HandledPartitions } from '../partitions.ts'
import type { LatestTime } from '../level/latest-time.ts'
import type { By, ErrorReport, Subject, TargetView, TransitionMark } from '../subject.ts'
import type { Fault, Outcome } from '../../plan/outcome.ts'
import type { Step, StepHooks } from '../../plan/step.ts'
import type { BackgroundActivities } from './background-activities.ts'

/** Arguments of a job's workflow. What the run serves is among them: whichever worker takes a task of it, and over continue-as-new, it is the same. */
export interface JobInput extends HandledPartitions {
  readonly subject: Subject
  readonly jobID: string
  /** Why the job was started, for people. */
  readonly cause: string
  /** The idle subject that asks for the job, as the journal knew it. Absent where the job was begun or handed down before. */
  readonly asked?: NewJobTarget
  /** What time it was at the latest in the run that goes on in this one. */
  readonly latest?: LatestTime
}

/** What a job begins on, without a read: its first write is fenced by the version. */
export type NewJobTarget = Pick<TargetView, 'version' | 'generation' | 'deleting' | 'jobID'> & {
  /** Of `WantedRun.begun`. */
  readonly begun?: StatusFields
}

/** What settle will write. Steps set it through the pass; the loop compares it with what is there and writes only a difference. */
export interface StatusDraft {
  phase: string | undefined
  observedGeneration: number
  lastError: ErrorReport | undefined
  readonly conditions: ConditionChange[]
  readonly marks: TransitionMark[]
  /** Further status fields of the kind, e.g. `executionRef`. */
  readonly fields: Record<string, unknown>
}

export interface JobState {
  readonly target: TargetView
}

export interface JobPass<State extends JobState, Act = unknown> {
  readonly subject: Subject
  readonly jobID: string
  readonly by: By
  /** The activities of the controller; fakes in unit tests. */
  readonly act: Act
  /** What was observed; a step that acts puts what it wrote here, so that the next step goes on from it. */
  state: State
  readonly draft: StatusDraft
  /** For work that takes longer than a pass may. */
  readonly background: BackgroundActivities<State>
  /** Something came during the pass that it has not seen: another pass follows. */
  readonly wake: () => void
  /** What the passes of hosted children came to, children before parents: settled before this pass's own status. */
  readonly hosted: HostedResult[]
}

/** How far the pass of a hosted child got. */
export interface HostedProgress<State> {
  readonly outcome: Outcome
  /** How its job ended; undefined while it goes on. */
  readonly result: string | undefined
  readonly state: State
  /** What will be settled; undefined: the job had ended before. */
  readonly draft: StatusDraft | undefined
}

export interface Phase<Pass> {
  readonly step: Step<Pass>
  /** The phase after `done`; a phase without next is left only by its step. */
  readonly next: string
}

export interface JobPlan<Pass> {
  readonly kind: string
  /** In the order of the diagram; drawn by CLI and console. */
  readonly phases: Readonly<Record<string, Phase<Pass>>>
  readonly finalPhases: readonly string[]
  /** Run in the pass that ends a job, before its status says so: until this is done, the job goes on. The draft says how it ends. */
  readonly ending?: Step<Pass>
  /** Where a job starts, by whether its subject is being deleted. */
  readonly first: (deleting: boolean) => string
  /** Where a final fault leads. */
  readonly failed: (phase: string) => string
  /** How the status tells the faults that a phase met. Default: the phase, the first fault's code, and all messages. */
  readonly report?: (phase: string, faults: readonly Fault[]) => ErrorReport
}

export interface JobController<State extends JobState, Act> {
  readonly plan: JobPlan<JobPass<State, Act>>
  readonly act: Act
  /**
   * Reads the subject and what the controller declares; undefined when the subject is gone or another one has its name.
   * `latest`: what the run knows, undefined before its first pass; work beside the passes changes it meanwhile.
   */
  observe(act: Act, input: JobInput, by: By, latest: () => State | undefined): Promise<State | undefined>
  /**
   * The writes with which a subject's own job begins, asked in every pass: first the status, then the metadata.
   * Ends with `stop(SUPERSEDED)` when another run has the job, with `stop(GUARDED)` when none was asked for. Absent where job IDs always come
   * from a parent.
   */
  readonly begin?: (pass: JobPass<State, Act>) => Promise<Outcome>
  /** Asked where the controller's object is hosted and has the job already: takes back in the draft what another hand has left there. */
  readonly resume?: (pass: JobPass<State, Act>) => void
  /** Called around every step of the plan. */
  readonly hooks?: StepHooks<JobPass<State, Act>>
  /** Markdown for people who look at the run in Temporal's UI. */
  readonly details: (pass: JobPass<State, Act>) => string
  /** Names and uids by which people find the run beside those of its subject: of what it hosts, the most important first. Default: none. */
  readonly searchAttributes?: (state: State) => readonly string[]
}

export type StepPass<State, Act> = Pick<JobPass<JobState, Act>, 'subject' | 'jobID' | 'by' | 'act'> & {
  state: State
  readonly background: BackgroundActivities<State>
}

/** What an object says of its job. */
export type ShownJob = Pick<TargetView, 'jobID' | 'jobIDFinished' | 'phase'> & {
  readonly lastError: Pick<ErrorReport, 'reason' | 'message'> | undefined
}

/** A controller whose actions write the status of the object themselves, its phases and the end of the job: its passes draft nothing. */
export interface StepController<State, Act> {
  readonly act: Act
  /** As in `JobController`. */
  observe(act: Act, input: JobInput, by: By, latest: () => State | undefined): Promise<State | undefined>
  /** In every pass. It may end the run: with `stop(SUPERSEDED)`, `stop(GUARDED)` or `stop(HANDED_DOWN)`. */
  readonly step: Step<StepPass<State, Act>>
  /** The subject as the steps have left it; undefined: it is gone. */
  readonly shown: (state: State) => ShownJob | undefined
  /** The phases in which a job has failed. */
  readonly failedPhases: readonly string[]
  /** Called around every step. */
  readonly hooks?: StepHooks<StepPass<State, Act>>
  readonly details: (pass: StepPass<State, Act>) => string
}

/** The operation of the error of a job that `begin` could not begin yet: its first writes are still to be made. */
export const BEGIN_OPERATION = 'Begin'

/** The reason with which `begin` says that another run has the job. */
export const SUPERSEDED = 'superseded'

/** The reason with which `begin` says that the subject asks for no job: it was seen for the first time, and has its finalizer now. */
export const FINALIZER_ADDED = 'guarded'

/** The reason with which a step says that the job has begun, and is another program's to do. */
export const HANDED_DOWN = 'handed down'

/** The reason with which a step says that the subject is gone: its finalizer was the last thing that held it. */
export const GONE = 'gone'

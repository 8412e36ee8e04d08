// The shape of a controller that runs jobs: what it observes, its phases, and the draft of the status that a pass settles.
// Pure data and types; reconcile-loop.ts runs it on Temporal, unit tests run it with a fake.

import type { ConditionChange, ErrorReport } from './conditions.ts'
import type { Outcome } from './outcome.ts'
import type { Step } from './step.ts'

/** The object whose job it is. */
export interface Subject {
  readonly kind: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** Arguments of a job's workflow. */
export interface JobInput {
  readonly subject: Subject
  readonly jobID: string
  /** Why the job was started, for people. */
  readonly cause: string
}

/** What every controller sees of its subject. */
export interface TargetView {
  readonly version: string
  readonly generation: number
  readonly deleting: boolean
  /** Our finalizer is there. */
  readonly guarded: boolean
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
  readonly observedGeneration: number
  readonly lastError: ErrorReport | undefined
}

export type TransitionMark = 'triggerTime' | 'initTime' | 'waitTime' | 'finishedTime'

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

/** Ours, running or not: jobs are idle when both IDs are equal or absent. Source: spec/landscaper.md 2.2. */
export function isIdle(target: { readonly jobID?: string | undefined; readonly jobIDFinished?: string | undefined }): boolean {
  return (target.jobID ?? '') === (target.jobIDFinished ?? '')
}

export interface JobState {
  readonly target: TargetView
}

export interface JobPass<State extends JobState> {
  readonly subject: Subject
  readonly jobID: string
  /** Counts from 1; part of the key of every action. */
  readonly number: number
  readonly state: State
  readonly draft: StatusDraft
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
  /** Where a job starts, by whether its subject is being deleted. */
  readonly first: (deleting: boolean) => string
  /** Where a final fault leads. */
  readonly failed: (phase: string) => string
}

export interface JobController<State extends JobState> {
  readonly plan: JobPlan<JobPass<State>>
  /** Reads the subject and what the controller declares; undefined when the subject is gone or another one has its name. */
  observe(input: JobInput, pass: number, previous: State | undefined): Promise<State | undefined>
  /** First write of a job that the subject starts itself; absent for kinds whose job IDs come from a parent. */
  readonly begin?: (pass: JobPass<State>) => Promise<Outcome>
  /** Markdown for people who look at the run in Temporal's UI. */
  readonly details: (pass: JobPass<State>) => string
}

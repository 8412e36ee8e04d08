// What the status of objects in job mode says, beside what the engine itself reads there: `jobID`, `jobIDFinished`, `phase` and
// `observedGeneration`. A wing gives its objects the shape that their users know. Pure; times are parameters.
// MERGED What a pass changes of a status, as data, and what the pass of a hosted child came to.

import type { ConditionChange } from '../conditions.ts'
import type { Outcome } from '../../plan/outcome.ts'
import type { By, ErrorReport, Subject, TargetView, TransitionMark } from '../subject.ts'

/** Fields of a status; null takes one away. */
export type StatusFields = Readonly<Record<string, unknown>>

export interface JobStatus {
  /** Holds an object under deletion until its job is done. */
  readonly finalizer: string
  /** The first phase of a job. */
  readonly firstPhase: (deleting: boolean) => string
  /**
   * What the first write of a job says that its subject begins itself.
   *
   * @param now a time as Kubernetes writes it, here and below.
   * @param beginning the first phase, and the generation that the job begins on.
   */
  readonly onBegin: (now: string, beginning: { readonly phase: string; readonly generation: number }) => StatusFields
  /** What a parent says when it hands a job to a child. */
  readonly onHandDown: (now: string) => StatusFields
  /** What a pass that is settled says. @param before the status as it is; undefined when it need not be known. */
  readonly onSettle: (change: StatusChange, before: StatusFields | undefined, now: string) => StatusFields
  /** Whether what a change says depends on the status as it is: lists are replaced as a whole. */
  readonly needsCurrentStatus: (change: StatusChange) => boolean
}

export interface StatusChange {
  /** The job ID is not in the status yet: this first write of the job puts it there, if the job before (undefined: none) is still the one there. */
  readonly begins?: { readonly before: string | undefined }
  /** The version the pass knows; the write is conditional on it. */
  readonly version: string
  /** The phase the pass started from: a settle that meets another version goes on only if the object is still there. */
  readonly observedPhase: string | undefined
  /** `metadata.generation` of the version that the pass knows, without the one that a deletion adds: it counts the edits of the spec. */
  readonly specGeneration: number
  readonly phase: string
  readonly finished: boolean
  readonly observedGeneration: number
  readonly lastError: ErrorReport | undefined
  readonly conditions: readonly ConditionChange[]
  readonly marks: readonly TransitionMark[]
  readonly fields: Readonly<Record<string, unknown>>
}

/** The target as it is after settle. */
export type SettledTarget = Pick<TargetView, 'version' | 'phase' | 'jobIDFinished' | 'observedGeneration' | 'lastError'>

/** What the pass of a hosted child came to. */
export interface HostedResult {
  /** Of the child's controller. */
  readonly by: By
  readonly subject: Subject
  /** Its finalizer was the last thing that held it. */
  readonly isGone: boolean
  /** Undefined: nothing of the child's status changes. */
  readonly change: StatusChange | undefined
  readonly outcome: Outcome
  /** Takes the child as settle left it. */
  applySettled(target: Partial<SettledTarget>): void
}

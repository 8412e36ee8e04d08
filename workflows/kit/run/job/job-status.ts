// The status of objects in job mode: the format that a wing defines, and the change that a pass makes. The engine
// itself reads `jobID`, `jobIDFinished`, `phase` and `observedGeneration`. Pure; times are parameters.

import type { ConditionChange } from '../conditions.ts'
import type { Outcome } from '../../plan/outcome.ts'
import type { By, ErrorReport, Subject, TargetView, TransitionMark } from '../subject.ts'

/** Status fields; null removes a field. */
export type StatusFields = Readonly<Record<string, unknown>>

export interface JobStatus {
  /** Keeps an object with a deletionTimestamp until its job is done. */
  readonly finalizer: string
  /** The first phase of a job. */
  readonly firstPhase: (deleting: boolean) => string
  /**
   * Status fields of the first write of a job that the object's own run starts, not a parent.
   *
   * @param now a time in Kubernetes' format, here and below.
   * @param beginning the first phase, and the generation of the job.
   */
  readonly onBegin: (now: string, beginning: { readonly phase: string; readonly generation: number }) => StatusFields
  /** Status fields when a parent hands a job to a child. */
  readonly onHandDown: (now: string) => StatusFields
  /**
   * Status fields of a settled pass.
   *
   * @param before the current status; undefined when `needsCurrentStatus` is false.
   */
  readonly onSettle: (change: StatusChange, before: StatusFields | undefined, now: string) => StatusFields
  /** Whether `onSettle` needs the current status, for example to keep entries of a list: a merge patch replaces the whole list. */
  readonly needsCurrentStatus: (change: StatusChange) => boolean
}

export interface StatusChange {
  /** The first write of a hosted job: adds the job ID if the status still has the previous job ID (undefined: none). */
  readonly begins?: { readonly before: string | undefined }
  /** The observed resourceVersion, a precondition of the write. */
  readonly version: string
  /** The phase at the start of the pass: after a conflict, settle continues only if the object still has it. */
  readonly observedPhase: string | undefined
  /** `metadata.generation` of the observed version, without the increment of a deletion: it counts edits of the spec. */
  readonly specGeneration: number
  readonly phase: string
  readonly finished: boolean
  /** `status.observedGeneration` to write: the generation that the job works on. */
  readonly observedGeneration: number
  readonly lastError: ErrorReport | undefined
  readonly conditions: readonly ConditionChange[]
  readonly marks: readonly TransitionMark[]
  readonly fields: Readonly<Record<string, unknown>>
}

/** The object's status after settle. */
export type SettledTarget = Pick<TargetView, 'version' | 'phase' | 'jobIDFinished' | 'observedGeneration' | 'lastError'>

/** The result of a pass over a hosted child. */
export interface HostedResult {
  /** The child's controller and the hosting run. */
  readonly by: By
  readonly subject: Subject
  /** The child was deleted: its finalizer was the last one. */
  readonly isGone: boolean
  /** Undefined: the status does not change. */
  readonly change: StatusChange | undefined
  readonly outcome: Outcome
  /** Updates the run's state of the child after settle. */
  applySettled(target: Partial<SettledTarget>): void
}

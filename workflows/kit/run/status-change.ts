// What a pass changes of a status, as data, and what the pass of a hosted child came to.

import type { ConditionChange } from './conditions.ts'
import type { Outcome } from '../plan/outcome.ts'
import type { By, ErrorReport, Subject, TargetView, TransitionMark } from './subject.ts'

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
export interface HostedEnd {
  /** Of the child's controller. */
  readonly by: By
  readonly subject: Subject
  /** Its finalizer was the last thing that held it. */
  readonly isGone: boolean
  /** Undefined: nothing of the child's status changes. */
  readonly change: StatusChange | undefined
  readonly outcome: Outcome
  /** Takes the child as settle left it. */
  settled(target: Partial<SettledTarget>): void
}

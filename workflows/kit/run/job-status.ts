// What the status of objects in job mode says, beside what the engine itself reads there: `jobID`, `jobIDFinished`, `phase` and
// `observedGeneration`. A wing gives its objects the shape that their users know. Pure; times are parameters.

import type { StatusChange } from './status-change.ts'

/** Fields of a status; null takes one away. */
export type StatusFields = Readonly<Record<string, unknown>>

export interface JobStatus {
  /** Holds an object under deletion until its job is done. */
  readonly finalizer: string
  /** The first phase of a job. */
  readonly first: (deleting: boolean) => string
  /**
   * What the first write of a job says that its subject begins itself.
   *
   * @param now a time as Kubernetes writes it, here and below.
   * @param beginning the first phase, and the generation that the job begins on.
   */
  readonly begun: (now: string, beginning: { readonly phase: string; readonly generation: number }) => StatusFields
  /** What a parent says when it hands a job to a child. */
  readonly handedDown: (now: string) => StatusFields
  /** What a pass that is settled says. @param before the status as it is; undefined when it need not be known. */
  readonly settled: (change: StatusChange, before: StatusFields | undefined, now: string) => StatusFields
  /** Whether what a change says depends on the status as it is: lists are replaced as a whole. */
  readonly needsBefore: (change: StatusChange) => boolean
}

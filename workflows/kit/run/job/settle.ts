// Settle input and result: the conditional status write at the end of a pass and the next due time. The loop computes the input; an activity executes
// it.
// Source: docs/concepts/architecture.md "How data flows" (settle) and "Writes, fields, errors".

import type { JobInput, JobPass, JobState, StatusDraft } from './job.ts'
import type { HostedResult, SettledTarget, StatusChange } from './job-status.ts'
import type { By, ErrorReport, Subject, TargetView } from '../subject.ts'

/** A status change of a hosted child. */
export interface ChildChange {
  readonly by: By
  readonly subject: Subject
  readonly change: StatusChange
}

export interface SettleInput extends By, JobInput {
  /**
   * Changes of hosted children, written before the object's own status. A superseded or overtaken child prevents the following writes. Absent: none.
   */
  readonly children?: readonly ChildChange[]
  /** Undefined: the status does not change. */
  readonly change: StatusChange | undefined
  /** Delay in milliseconds until the next pass; undefined waits for a change, Number.MAX_SAFE_INTEGER leaves the delay to the back-off. */
  readonly againMs: number | undefined
  /** Passes in a row that ended in a retryable fault; 0 means no back-off. */
  readonly attempt: number
  /** An event or a user requested the pass, not its due time: its fault does not count against the retry rate. Absent: due time. */
  readonly isOutside?: true
  /** The fault of the pass, also when the status does not change; undefined without a fault. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined
  /** The pass observed no object whose status could show the fault. */
  readonly isUnseen?: true | undefined
  /** Number of settles in a row that the API server rejected. Absent: 0. */
  readonly refusals?: number
}

export type SettleResult =
  | {
      readonly result: 'settled'
      readonly target: Partial<SettledTarget>
      /** In the order of the input's `children`. */
      readonly children?: readonly Partial<SettledTarget>[]
      /** An event arrived after the observation. */
      readonly woken: boolean
      /** Sequence numbers of the first of these events. Absent: only due times, or an earlier release. */
      readonly wokenBy?: readonly number[]
    }
  /** Another run has the job, or moved its phase. */
  | { readonly result: 'superseded' }
  /** The job would have ended, but a user edited the spec after the observation: nothing was written, and another pass is due. */
  | { readonly result: 'overtaken' }
  /** The API server rejected a status: writes may be missing, and the next pass is due after the back-off. */
  | { readonly result: 'refused' }

export interface EndInput extends By, JobInput {
  readonly outcome: string
  /** Hosted children that this pass deleted. Absent: none. */
  readonly gone?: readonly Pick<ChildChange, 'by' | 'subject'>[]
}

export interface SettleActivities {
  settle(input: SettleInput): Promise<SettleResult>
  endRun(input: EndInput): Promise<void>
}

/** The children's part of the settle input: their changes in order, and the uids of all objects whose writes are own writes. */
export function settleInputOfHosted(
  { uid }: Subject,
  hosted: readonly HostedResult[] = [],
): Pick<SettleInput, 'children' | 'tree'> {
  const children = hosted.filter(isChanged).map(({ by, subject, change }): ChildChange => ({ by, subject, change }))
  const tree = [...new Set([uid, ...hosted.flatMap(({ by }) => by.tree ?? [])])]
  return { tree, ...(children.length > 0 && { children }) }
}

/** Updates the run's state of the changed children after settle. */
export function applySettledChildren(
  hosted: readonly HostedResult[] = [],
  targets: readonly Partial<SettledTarget>[] = [],
): void {
  const changed = hosted.filter(isChanged)
  targets.forEach((target, index) => changed[index]?.applySettled(target))
}

function isChanged(child: HostedResult): child is HostedResult & ChildChange {
  return child.change !== undefined
}

/** The difference between the draft and the observed status; undefined without a difference, so that nothing is written. */
export function statusChange<State extends JobState>(
  pass: JobPass<State>,
  finalPhases: readonly string[],
): StatusChange | undefined {
  // Without its first write the job has no status: another job's status must not be overwritten.
  return pass.state.target.jobID === pass.jobID ? changeOf(pass, finalPhases) : undefined
}

/** The same for a hosted child; this write starts its job if necessary. */
export function hostedChange<State extends JobState>(
  pass: JobPass<State>,
  finalPhases: readonly string[],
): StatusChange | undefined {
  const change = changeOf(pass, finalPhases)
  const { jobID: before } = pass.state.target
  return change === undefined || before === pass.jobID ? change : { ...change, begins: { before } }
}

function changeOf<State extends JobState>(
  { draft, state: { target }, jobID }: JobPass<State>,
  finalPhases: readonly string[],
): StatusChange | undefined {
  const { phase, observedGeneration, lastError, conditions, marks, fields } = draft
  if (phase === undefined) return undefined
  const finished = finalPhases.includes(phase)
  if (target.jobID === jobID && isSame(draft, target) && (!finished || target.jobIDFinished === jobID)) return undefined
  return {
    version: target.version,
    observedPhase: target.phase,
    specGeneration: target.generation - (target.deleting ? 1 : 0),
    phase,
    finished,
    observedGeneration,
    lastError,
    conditions,
    marks,
    fields,
  }
}

function isSame(draft: StatusDraft, target: TargetView): boolean {
  return (
    target.reportsBug !== true &&
    draft.phase === target.phase &&
    draft.observedGeneration === target.observedGeneration &&
    sameError(draft.lastError, target.lastError) &&
    draft.conditions.length === 0 &&
    Object.keys(draft.fields).length === 0
  )
}

function sameError(left: ErrorReport | undefined, right: ErrorReport | undefined): boolean {
  return left?.operation === right?.operation && left?.reason === right?.reason && left?.message === right?.message
}

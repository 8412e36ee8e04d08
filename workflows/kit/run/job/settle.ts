// What a pass leaves behind, as data: the one conditional status write and the next due time. The loop makes it, an activity carries it out.
// Source: docs/architecture.md "How data flows" (settle) and "Writes, fields, errors".

import type { JobInput, JobPass, JobState, StatusDraft } from './job.ts'
import type { HostedResult, SettledTarget, StatusChange } from './job-status.ts'
import type { By, ErrorReport, Subject, TargetView } from '../subject.ts'

/** A change of a child that the run hosts. */
export interface ChildChange {
  readonly by: By
  readonly subject: Subject
  readonly change: StatusChange
}

export interface SettleInput extends By, JobInput {
  /** Of hosted children, written before the subject's own; one that is superseded or overtaken withholds what follows it. Absent: none. */
  readonly children?: readonly ChildChange[]
  /** Undefined: nothing of the status changes. */
  readonly change: StatusChange | undefined
  /** Delay in milliseconds until the next pass is wanted; undefined = when something changes, Number.MAX_SAFE_INTEGER = as the back-off says. */
  readonly againMs: number | undefined
  /** Passes in a row that ended in a retryable fault; 0 takes no back-off. */
  readonly attempt: number
  /** Something from outside asked for the pass, not its due time: its fault takes nothing of the budget of retries. Absent: not so. */
  readonly isOutside?: true
  /** What the pass met, also when the status says nothing new; undefined when it met nothing. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined
  /** The pass has seen no object in whose status it could say what it met. Absent: it has. */
  readonly isUnseen?: true | undefined
  /** How often in a row the server has refused what the run's passes came to. Absent: not the last time. */
  readonly refusals?: number
}

export type SettleResult =
  | {
      readonly result: 'settled'
      readonly target: Partial<SettledTarget>
      /** As `children` of the input. */
      readonly children?: readonly Partial<SettledTarget>[]
      /** Something came since the pass looked. */
      readonly woken: boolean
      /** Numbers of the first of the journal's events behind it. Absent: none, or due times only; former workers told none. */
      readonly wokenBy?: readonly number[]
    }
  /** The job is no longer ours, or its phase was moved by another run. */
  | { readonly result: 'superseded' }
  /** The job would have ended, but the spec was edited since the pass looked: nothing was written, and another pass is due. */
  | { readonly result: 'overtaken' }
  /** The server refuses a status: not all of it was written, and another pass is due when the back-off says. */
  | { readonly result: 'refused' }

export interface EndInput extends By, JobInput {
  readonly outcome: string
  /** Hosted children that have gone with this pass. Absent: none. */
  readonly gone?: readonly Pick<ChildChange, 'by' | 'subject'>[]
}

export interface SettleActivities {
  settle(input: SettleInput): Promise<SettleResult>
  endRun(input: EndInput): Promise<void>
}

/** What hosted children add to what is settled: those changes that they make, in their order, and whose writes are the run's own. */
export function settleInputOfHosted(
  { uid }: Subject,
  hosted: readonly HostedResult[] = [],
): Pick<SettleInput, 'children' | 'tree'> {
  const children = hosted.filter(isChanged).map(({ by, subject, change }): ChildChange => ({ by, subject, change }))
  const tree = [...new Set([uid, ...hosted.flatMap(({ by }) => by.tree ?? [])])]
  return { tree, ...(children.length > 0 && { children }) }
}

/** Tells those that changed how settle left them. */
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

/** The change that the pass's draft makes to the status it observed; undefined when it makes none (nothing is written then). */
export function statusChange<State extends JobState>(
  pass: JobPass<State>,
  finalPhases: readonly string[],
): StatusChange | undefined {
  // A job that has not begun has no status to settle: another job's must not be written over.
  return pass.state.target.jobID === pass.jobID ? changeOf(pass, finalPhases) : undefined
}

/** The same of a hosted child, whose job begins with this write where it has not begun. */
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

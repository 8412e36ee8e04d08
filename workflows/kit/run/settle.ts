// What a pass leaves behind, as data: the one conditional status write and the next due time. The loop makes it, an activity carries it out.
// Source: docs/architecture.md "How data flows" (settle) and "Writes, fields, errors".

import type { ConditionChange } from './conditions.ts'
import type { By, ErrorReport, JobInput, JobPass, JobState, TargetView, TransitionMark } from './job.ts'

export interface StatusChange {
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

export interface SettleInput extends By, JobInput {
  /** Undefined: nothing of the status changes. */
  readonly change: StatusChange | undefined
  /** Delay in milliseconds until the next pass is wanted; undefined = when something changes, Number.MAX_SAFE_INTEGER = as the back-off says. */
  readonly againMs: number | undefined
  /** Passes in a row that ended in a retryable fault; 0 takes no back-off. */
  readonly attempt: number
  /** What the pass met, also when the status says nothing new; undefined when it met nothing. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined
  /** The run has nothing to do until it is woken: what it waits for may come before the activity ends. */
  readonly lingers: boolean
}

/** The target as it is after settle. */
export type SettledTarget = Pick<TargetView, 'version' | 'phase' | 'jobIDFinished' | 'observedGeneration' | 'lastError'>

export type SettleResult =
  | { readonly result: 'settled'; readonly target: Partial<SettledTarget>; readonly woken: boolean }
  /** The job is no longer ours, or its phase was moved by another run. */
  | { readonly result: 'superseded' }
  /** The job would have ended, but the spec was edited since the pass looked: nothing was written, and another pass is due. */
  | { readonly result: 'overtaken' }

export interface SettleActivities {
  settle(input: SettleInput): Promise<SettleResult>
  endRun(input: By & JobInput & { readonly outcome: string }): Promise<void>
}

/** The change that the pass's draft makes to the status it observed; undefined when it makes none (nothing is written then). */
export function statusChange<State extends JobState>(
  { draft, state: { target }, jobID }: JobPass<State>,
  finalPhases: readonly string[],
): StatusChange | undefined {
  // A job that has not begun has no status to settle: another job's must not be written over.
  if (draft.phase === undefined || target.jobID !== jobID) return undefined
  const finished = finalPhases.includes(draft.phase)
  const same =
    draft.phase === target.phase &&
    draft.observedGeneration === target.observedGeneration &&
    sameError(draft.lastError, target.lastError) &&
    draft.conditions.length === 0 &&
    Object.keys(draft.fields).length === 0 &&
    (!finished || target.jobIDFinished === jobID)
  if (same) return undefined
  return {
    version: target.version,
    observedPhase: target.phase,
    specGeneration: target.generation - (target.deleting ? 1 : 0),
    phase: draft.phase,
    finished,
    observedGeneration: draft.observedGeneration,
    lastError: draft.lastError,
    conditions: draft.conditions,
    marks: draft.marks,
    fields: draft.fields,
  }
}

function sameError(left: ErrorReport | undefined, right: ErrorReport | undefined): boolean {
  return left?.operation === right?.operation && left?.reason === right?.reason && left?.message === right?.message
}

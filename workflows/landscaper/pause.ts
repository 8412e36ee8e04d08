// Pause: while its annotation exists on an Installation or Execution, no job, item, sub-installation or deletion of the object starts.
// Running work continues to its end. Pure. Source: spec/engine.md 5 ("pause": audited, owner recorded), docs/adr/0049.
//
//   Q1. The annotation's value is the reason. Empty and `false` mean no pause.
//   Q2. The status shows the pause, also for idle objects: field `paused` and a condition, in one write. If no job runs, a run without a job writes
//       them.
//   Q3. A parent hands its pause down to sub-installations with its job. A pause that was handed down is valid for that job only.
//   Q4. An interrupt ends a paused job; items that it ends do not start again in this job.

import { PAUSED_ANNOTATION } from './contract.ts'
import {
  annotation,
  type ConditionChange,
  isIdle,
  jobIDsOf,
  path,
  record,
  required,
  text,
  textAt,
  timestamp,
  type TransitionMark,
  type JobTrigger,
  type RunRequest,
} from '../kit/index.ts'

export const PAUSED_CONDITION = 'Paused'

/** The field `paused` of a status; absent without a pause (Q2). */
export const pausedField = record('The pause of the object; absent: it is not paused.', {
  by: required(text('The user who paused the object, as far as known.')),
  since: timestamp('When the pause began, if known.'),
  reason: required(text('The value of the annotation: the reason that the user gave.')),
})

/** The paths of a pause in the projection of a kind that can be paused. */
export const PAUSE_PATHS = [annotation(PAUSED_ANNOTATION), path('status.paused')]

/** The fields whose changes can need a run that reports the pause (Q2). */
export const PAUSE_TRIGGERS: readonly JobTrigger[] = PAUSE_PATHS.map((at) => ({ path: at }))

/** A pause as a pass observes it. */
export interface PauseView {
  readonly by: string
  readonly since?: string
  readonly reason: string
}

/** The pause fields of a pass's subject. */
export interface PausableView {
  readonly paused?: PauseView
  /** The reason in the status. The name is part of recorded activity results. */
  readonly pauseTold?: string
}

// Longer reasons are cut; the journal keeps this much of an annotation.
const MAX_REASON_LENGTH = 256
const HANDED_DOWN = 'parent:'
const BY = ' by '

/** The value that pauses the sub-installations of a job (Q3). @param by the user who paused the parent, from the parent's status. */
export function handedDownValue(jobID: string, by?: string): string {
  return by === undefined ? `${HANDED_DOWN}${jobID}` : `${HANDED_DOWN}${jobID}${BY}${by}`
}

/** The user who paused the parent, from the value; undefined if the value names no user. */
export function handedDownUser(object: object): string | undefined {
  const value = textAt(object, annotation(PAUSED_ANNOTATION)) ?? ''
  const at = value.indexOf(BY)
  return at === -1 ? undefined : value.slice(at + BY.length)
}

/** Whether the pause was handed down, for any job. */
export function isHandedDown(reason: string): boolean {
  return reason.startsWith(HANDED_DOWN)
}

/** The reason of an effective pause, without the user of a pause that was handed down; undefined without a pause. Accepts objects and projections. */
export function pauseReason(object: object): string | undefined {
  const value = (textAt(object, annotation(PAUSED_ANNOTATION)) ?? '').trim().slice(0, MAX_REASON_LENGTH)
  if (value === '' || value === 'false') return undefined
  if (!isHandedDown(value)) return value
  const ids = jobIDsOf(object)
  if (isIdle(ids) || ids.jobID === undefined) return undefined
  const ofJob = handedDownValue(ids.jobID)
  return value === ofJob || value.startsWith(`${ofJob}${BY}`) ? ofJob : undefined
}

/** The reason in the status. Accepts objects and projections. */
export function reportedPause(object: object): string | undefined {
  return textAt(object, path('status.paused.reason'))
}

/** The run of an idle object whose status does not show the current pause; undefined if the status is correct (Q2). */
export function pauseReportRun(object: object): RunRequest | undefined {
  const reason = pauseReason(object)
  if (reason === reportedPause(object)) return undefined
  return { jobID: undefined, cause: reason === undefined ? 'resumed' : 'paused', isJobless: true }
}

/** The reason why a paused object gets no run. */
export const PAUSED_RUN = { none: `paused by the annotation ${PAUSED_ANNOTATION}` } as const satisfies RunRequest

/** Whether the status of an idle subject does not show the current pause. */
export function isPauseUnreported({ paused, pauseTold }: PausableView): boolean {
  return paused?.reason !== pauseTold
}

/** Formats a pause. */
export function formatPause({ by, since, reason }: PauseView): string {
  const when = since === undefined ? '' : ` since ${since}`
  const why = reason === 'true' || isHandedDown(reason) ? '' : `: ${reason}`
  return `paused by ${by}${when}${why}`
}

/** The status fields of a pause. */
export function pauseStatus(paused: PauseView | undefined): {
  readonly paused: PauseView | null
  readonly condition: ConditionChange
} {
  const type = PAUSED_CONDITION
  if (paused === undefined)
    return { paused: null, condition: { type, status: 'False', reason: 'Resumed', message: 'not paused' } }
  return { paused, condition: { type, status: 'True', reason: 'PausedByAnnotation', message: formatPause(paused) } }
}

interface SettlingPass {
  readonly draft: {
    readonly conditions: ConditionChange[]
    readonly marks: readonly TransitionMark[]
    readonly fields: Record<string, unknown>
  }
  readonly state: { readonly target: PausableView }
}

/** Adds the pause, or its end, to the status that the pass settles. */
export function reportPause({ draft, state: { target } }: SettlingPass): void {
  if (draft.conditions.some(({ type }) => type === PAUSED_CONDITION)) return
  // The first write of a job removes the conditions of the previous job.
  const isAnew = target.paused !== undefined && draft.marks.includes('initTime')
  if (!isPauseUnreported(target) && !isAnew) return
  const { paused, condition } = pauseStatus(target.paused)
  draft.fields['paused'] = paused
  draft.conditions.push(condition)
}

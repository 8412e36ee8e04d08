// A pause: while its annotation stands on an Installation or Execution nothing of that begins, no job, no item, no sub-installation and no deletion.
// What has begun goes on to its end. Pure. Source: spec/engine.md 5 ("pause": audited, owner recorded), docs/adr/0049.
//
//   Q1. The annotation's value is the reason. Empty and `false` hold nothing back.
//   Q2. The status says it, also of what is idle: `paused` and a condition, in one write, made and taken back by a run without a job where none is open.
//   Q3. A parent hands it down to sub-installations that have its job. What it hands down holds for that job alone.
//   Q4. An interrupt ends a job that is held back; what it ends begins no more.

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

/** The field `paused` of a status: what holds the object back; absent where nothing does (Q2). */
export const pausedField = record('Who holds it back; absent: nobody does.', {
  by: required(text('Who has paused it, as far as is known.')),
  since: timestamp('Since when, where that is known.'),
  reason: required(text('The value of the annotation.')),
})

/** What of it is in the projection of a kind that can be paused. */
export const PAUSE_PATHS = [annotation(PAUSED_ANNOTATION), path('status.paused')]

/** What may ask for a run that says so (Q2). */
export const PAUSE_MARKS: readonly JobTrigger[] = PAUSE_PATHS.map((at) => ({ path: at }))

/** What a pass sees of it. */
export interface PauseView {
  readonly by: string
  readonly since?: string
  readonly reason: string
}

/** Of the subject of a pass. */
export interface PausableView {
  readonly paused?: PauseView
  /** The reason that its status tells. */
  readonly pauseTold?: string
}

// Longer reasons are cut; the journal keeps as much of an annotation.
const LONGEST = 256
const HANDED_DOWN = 'parent:'
const BY = ' by '

/** The value that holds the sub-installations of a job back (Q3). @param by who has paused the one above, as it is told there. */
export function handedDown(jobID: string, by?: string): string {
  return by === undefined ? `${HANDED_DOWN}${jobID}` : `${HANDED_DOWN}${jobID}${BY}${by}`
}

/** Who has paused the one above, as the value says; undefined: it does not. */
export function handedDownBy(object: object): string | undefined {
  const value = textAt(object, annotation(PAUSED_ANNOTATION)) ?? ''
  const at = value.indexOf(BY)
  return at === -1 ? undefined : value.slice(at + BY.length)
}

/** Whether the annotation was handed down, in whatever job. */
export function isHandedDown(reason: string): boolean {
  return reason.startsWith(HANDED_DOWN)
}

/** What holds an object back, of what was handed down without who has paused the one above; undefined: nothing does. Takes objects and projections alike. */
export function pauseReason(object: object): string | undefined {
  const value = (textAt(object, annotation(PAUSED_ANNOTATION)) ?? '').trim().slice(0, LONGEST)
  if (value === '' || value === 'false') return undefined
  if (!isHandedDown(value)) return value
  const ids = jobIDsOf(object)
  if (isIdle(ids) || ids.jobID === undefined) return undefined
  const ofJob = handedDown(ids.jobID)
  return value === ofJob || value.startsWith(`${ofJob}${BY}`) ? ofJob : undefined
}

/** What its status tells of it. Takes objects and projections alike. */
export function toldPause(object: object): string | undefined {
  return textAt(object, path('status.paused.reason'))
}

/** The run of an idle object whose status does not say what is so; undefined: it does (Q2). */
export function runThatTells(object: object): RunRequest | undefined {
  const reason = pauseReason(object)
  if (reason === toldPause(object)) return undefined
  return { jobID: undefined, cause: reason === undefined ? 'resumed' : 'paused', isJobless: true }
}

/** Why an object that is held back gets no run. */
export const HELD_BACK = { none: `it is paused by the annotation ${PAUSED_ANNOTATION}` } as const satisfies RunRequest

/** Whether what is known of an idle subject is not what its status tells. */
export function isUntold({ paused, pauseTold }: PausableView): boolean {
  return paused?.reason !== pauseTold
}

/** In words, for people. */
export function pauseText({ by, since, reason }: PauseView): string {
  const when = since === undefined ? '' : ` since ${since}`
  const why = reason === 'true' || isHandedDown(reason) ? '' : `: ${reason}`
  return `paused by ${by}${when}${why}`
}

/** What a status has to say. */
export function pauseStatus(paused: PauseView | undefined): {
  readonly paused: PauseView | null
  readonly condition: ConditionChange
} {
  const type = PAUSED_CONDITION
  if (paused === undefined)
    return { paused: null, condition: { type, status: 'False', reason: 'Resumed', message: 'nothing holds it back' } }
  return { paused, condition: { type, status: 'True', reason: 'PausedByAnnotation', message: pauseText(paused) } }
}

interface Told {
  readonly draft: {
    readonly conditions: ConditionChange[]
    readonly marks: readonly TransitionMark[]
    readonly fields: Record<string, unknown>
  }
  readonly state: { readonly target: PausableView }
}

/** Says in what the pass settles what holds the subject back, or that nothing does any more. */
export function tellPause({ draft, state: { target } }: Told): void {
  if (draft.conditions.some(({ type }) => type === PAUSED_CONDITION)) return
  // With the first write of a job goes what the job before has said.
  const isAnew = target.paused !== undefined && draft.marks.includes('initTime')
  if (!isUntold(target) && !isAnew) return
  const { paused, condition } = pauseStatus(target.paused)
  draft.fields['paused'] = paused
  draft.conditions.push(condition)
}

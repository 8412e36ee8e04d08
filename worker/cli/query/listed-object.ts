// The state of an object in a list: its phase, why it is not ready, and the object that a user looks at first. Pure.

import type { AwaitedObject } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'
import { isSameGroupKind, joinNames } from '../../../workflows/kit/index.ts'
import type { LiveStatus } from '../live-status.ts'
import { statusText } from './draw-job-tree.ts'
import { isInLevelMode, ownFinalizer } from './explain-status.ts'
import { deletionIn, errorText, isBad, isBusy, nameOf, notReadyText } from './format.ts'
import { phaseOf } from './job-tree.ts'
import { keyOf, notRequestedSentences, unhandledType } from './root-cause.ts'
import { pausedText, queueText } from './waiting.ts'

/** An object with its newest job. */
export interface ListedObject {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  readonly awaited: readonly AwaitedObject[]
  /** Children that have not finished, if the object has not finished. */
  readonly unfinished: readonly ObjectRecord[]
  /** The lowest unfinished object below it. */
  readonly reason?: ObjectRecord | undefined
  /** The live status of the reason, or of the object itself. */
  readonly status?: LiveStatus | undefined
  /** The row at the end of a chain of awaited objects of the same kind, if it is not ready. */
  readonly awaitedRow?: ListedObject | undefined
  /** Set if the object's next job has not started. */
  readonly queuePosition?: QueuePosition | undefined
}

/** The row that a user needs first: failed objects come before stuck objects, stuck before waiting objects, items before their parents. */
export function causeIn(rows: readonly ListedObject[]): ListedObject | undefined {
  const unready = rows.filter((row) => waitText(row) !== '')
  const [cause] = unready.toSorted((left, right) => rankOf(left) - rankOf(right))
  return cause
}

const HUNG = 2
const WAITING = 4
const WAITING_FOR_SIBLING = 6
const IDLE = 8

function isHung({ object, reason = object, status }: ListedObject): boolean {
  return (status?.pods.length ?? 0) > 0 || unhandledType({ object: reason, job: undefined }) !== undefined
}

/** Sets `awaitedRow`. */
export function withAwaitedRows(rows: readonly ListedObject[]): readonly ListedObject[] {
  const rowOf = new Map(rows.map((row) => [keyOf(row.object), row]))
  const nextOf = (row: ListedObject) =>
    row.reason === undefined && isBusy(row.object.projection) && !isInLevelMode(row)
      ? row.awaited.filter((one) => isSameGroupKind(one, row.object)).flatMap((one) => rowOf.get(keyOf(one)) ?? [])[0]
      : undefined
  return rows.map((row) => {
    const seen = new Set([row])
    let last = row
    for (let next = nextOf(row); next !== undefined && !seen.has(next); next = nextOf(next)) {
      seen.add(next)
      last = next
    }
    return last === row || waitText(last) === '' ? row : { ...row, awaitedRow: last }
  })
}

function rankOf(row: ListedObject): number {
  const { object, job, reason } = row
  const hasError = isBad(phaseOfRow(row)) || (job?.outcome === null && job.lastError !== null)
  const isIdle = pausedText(object) !== undefined || isNotRequested(row)
  if (isIdle && !hasError) return IDLE
  const parent = reason === undefined ? 0 : 1
  if (hasError) return parent
  if (isHung(row)) return HUNG + parent
  return (row.awaitedRow === undefined ? WAITING : WAITING_FOR_SIBLING) + parent
}

export function phaseOfRow({ object, job }: Pick<ListedObject, 'object' | 'job'>): string | undefined {
  const phase = phaseOf({ object, job: isInLevelMode({ object, job }) ? job : undefined })
  return phase === '-' ? (job?.phase ?? undefined) : phase
}

/** How texts show a time. */
type TimeText = (at: Date) => string
const exactTime: TimeText = (at) => at.toISOString()

/** Why an object is not ready, in a few words; empty if it is ready. */
export function waitText(row: ListedObject, time: TimeText = exactTime): string {
  const { object, queuePosition } = row
  const texts = [
    pausedText(object),
    queuePosition === undefined ? undefined : queueText(queuePosition),
    unfinishedText(row, time),
  ]
  return texts.filter((text) => text !== undefined && text !== '').join('; ')
}

function unfinishedText(row: ListedObject, time: TimeText): string {
  const { object, job, reason } = row
  const status = statusText(row.status)
  if (isBad(phaseOfRow(row))) return reasonText(reason, status) || (errorOf(job, time) ?? (status || 'see pawl why'))
  const own = status || (unhandledType({ object: reason ?? object, job: undefined }) ?? '')
  return reasonText(reason, own) || own || progressText(row, time)
}

/** An ended job has its error with the time: users may have fixed the cause, or retried an item, since. */
function errorOf(job: JobRecord | undefined, time: TimeText): string | undefined {
  const error = errorText(job?.lastError, Infinity)
  const finishedAt = job?.finishedAt
  return error === undefined || finishedAt == null ? error : `failed at ${time(finishedAt)}: ${error}`
}

const NOT_REQUESTED = 'no job was requested'

function progressText(row: ListedObject, time: TimeText): string {
  const { object, job } = row
  const error = job?.outcome === null ? errorText(job.lastError, Infinity) : undefined
  const reason = awaitedText(row, time) ?? deletionText(object) ?? error
  return reason ?? (isNotRequested(row) ? NOT_REQUESTED : notReadyText(object.projection))
}

function reasonText(reason: ObjectRecord | undefined, text: string): string {
  return reason === undefined || text === '' ? '' : `${nameOf(reason)}: ${text}`
}

/** With the name of the object that the text explains. */
function awaitedRowText(row: ListedObject, time: TimeText): string {
  const text = waitText(row, time)
  const name = nameOf(row.reason ?? row.object)
  return text.startsWith(name) ? text : `${nameOf(row.object)}: ${text}`
}

function awaitedText(
  { object, job, awaited, unfinished, reason, awaitedRow }: ListedObject,
  time: TimeText,
): string | undefined {
  if (!isBusy(object.projection)) return undefined
  if (awaitedRow !== undefined) return awaitedRowText(awaitedRow, time)
  const waitsFor = isInLevelMode({ object, job }) ? [] : awaited
  const parts = reason === undefined || waitsFor.length > 0 ? unfinished : [reason]
  const named = [...waitsFor, ...parts].map(nameOf)
  return named.length === 0 ? undefined : joinNames(named, 2)
}

function isNotRequested({ object, job, queuePosition }: ListedObject): boolean {
  return queuePosition === undefined && !object.deleted && notRequestedSentences(object, job).length > 0
}

function deletionText(object: ObjectRecord): string | undefined {
  const deletion = deletionIn(object.projection)
  const foreign = deletion?.finalizers.filter((finalizer) => finalizer !== ownFinalizer(object)) ?? []
  if (deletion === undefined) return undefined
  return foreign.length === 0 ? 'its deletion' : `another controller to remove ${foreign.join(', ')}`
}

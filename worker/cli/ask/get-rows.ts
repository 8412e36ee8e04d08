// Objects with their newest jobs as rows: for a table, for programs, and as names. Pure.

import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { AwaitedObject } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectName, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'
import { pausedText } from './paused.ts'
import { tableText, type Cell } from './table.ts'
import { between, colourOf, deletionIn, errorText, isBad, isBusy, nameOf, type Paint, phaseIn, shown } from './texts.ts'
import { turnText } from './turns.ts'

export interface Found {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  readonly awaited: readonly AwaitedObject[]
  /** Children that are not through, when the object is not. */
  readonly unfinished: readonly ObjectRecord[]
  /** Its next job is asked for, and has not begun. */
  readonly turn?: QueuePosition | undefined
}

export interface Form {
  readonly now: Date
  readonly paint: Paint
  readonly wide: boolean
  readonly withNamespace: boolean
  /** Several kinds are listed. */
  readonly withKind: boolean
}

export function getTable(found: readonly Found[], form: Form): string {
  const header = [
    ...(form.withNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'PHASE', 'JOB', 'DURATION', 'WAITING-FOR'],
    ...(form.wide ? ['STARTED', 'OUTCOME', 'CAUSE', 'RUN'] : []),
  ]
  return tableText(
    header,
    found.map((one) => rowOf(one, form)),
    form.paint,
  )
}

function rowOf(found: Found, { now, wide, withNamespace, withKind }: Form): readonly Cell[] {
  const { object, job } = found
  const phase = standing(found) ?? '-'
  const length = job === undefined ? '-' : between(job.startedAt, job.finishedAt ?? now)
  return [
    ...(withNamespace ? [object.namespace] : []),
    withKind ? `${object.kind.toLowerCase()}/${object.name}` : object.name,
    { text: phase, colour: colourOf(phase) },
    ...[job?.jobID ?? '-', length, shown(waitText(found), wide ? 200 : 80)],
    ...(wide ? wideCells(job) : []),
  ]
}

function wideCells(job: JobRecord | undefined): readonly Cell[] {
  if (job === undefined) return ['-', '-', '-', '-']
  return [job.startedAt.toISOString(), job.outcome ?? '-', job.cause, job.workflowID]
}

function standing({ object, job }: Pick<Found, 'object' | 'job'>): string | undefined {
  return phaseIn(object.projection) ?? job?.phase ?? undefined
}

/** What keeps an object from being ready, in a few words; empty when nothing does. */
export function waitText(found: Found): string {
  const { object, turn } = found
  const texts = [pausedText(object), turn === undefined ? undefined : turnText(turn), restText(found)]
  return texts.filter((text) => text !== undefined && text !== '').join('; ')
}

function restText(found: Found): string {
  const { object, job, awaited, unfinished } = found
  const error = errorText(job?.lastError)
  if (isBad(standing(found))) return error ?? 'see pawl why'
  const named = [...awaited, ...unfinished].map(nameOf)
  if (isBusy(object.projection) && named.length > 0) return few(named)
  return goingText(object) ?? (job?.outcome === null ? error : undefined) ?? ''
}

function goingText({ projection }: ObjectRecord): string | undefined {
  const deletion = deletionIn(projection)
  return deletion === undefined ? undefined : `to be gone: ${deletion.finalizers.join(', ') || 'no finalizers'}`
}

function few(names: readonly string[]): string {
  const more = names.length - 2
  return `${names.slice(0, 2).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** For programs. */
export function getData(found: readonly Found[]): readonly object[] {
  return found.map((one) => ({
    group: one.object.group,
    kind: one.object.kind,
    namespace: one.object.namespace,
    name: one.object.name,
    uid: one.object.uid,
    resourceVersion: one.object.version,
    phase: phaseIn(one.object.projection) ?? null,
    waitingFor: waitText(one),
    job: one.job === undefined ? null : jobData(one.job),
  }))
}

function jobData(job: JobRecord): object {
  const { jobID, workflowID, controller, cause, phase, phases, outcome, lastError, startedAt, finishedAt } = job
  return { jobID, workflowID, controller, cause, phase, phases, outcome, lastError, startedAt, finishedAt }
}

export function getNames(objects: readonly (GroupKind & ObjectName)[]): string {
  return objects
    .map(({ group, kind, name }) => `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}\n`)
    .join('')
}

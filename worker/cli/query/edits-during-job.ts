// Explains what users did with an object while its job runs, or to end it: they edited the spec, requested another job
// or the deletion, or interrupted the job. Pure.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { annotation, joinNames, path, textAt, valueAt, type Projection } from '../../../workflows/kit/index.ts'
import { suggestedCommand } from '../suggestion.ts'
import { isInLevelMode, steeringOf } from './explain-status.ts'
import { deletionIn, formatTime, nameOf, singleLine } from './format.ts'
import { type JobNode, phaseOf, startIn } from './job-tree.ts'

type SubjectWithJob = { readonly object: ObjectRecord; readonly job: JobRecord | undefined }

/** A controller in level mode has no jobs: its next pass handles each request. */
function isJobRunning({ object, job }: SubjectWithJob): boolean {
  return job?.outcome === null && !isInLevelMode({ object, job })
}

/** True if the deletion was requested while a job of another kind runs: the deletion waits for its end. */
export function isDeletionWaiting({ object, job }: SubjectWithJob): boolean {
  const deletion = object.deleted ? undefined : deletionIn(object.projection)
  if (deletion === undefined || job === undefined || !isJobRunning({ object, job })) return false
  return job.startedAt.getTime() < Date.parse(deletion.since) && !/delet/i.test(job.phase ?? '')
}

/** True if users edited the spec after the running job started. */
function isEdited(subject: SubjectWithJob): boolean {
  const { projection } = subject.object
  const [generation, observed] = [path('metadata.generation'), path('status.observedGeneration')].map((at) =>
    Number(valueAt(projection, at)),
  )
  if (!isJobRunning(subject) || generation === undefined || observed === undefined) return false
  // The request of a deletion increments the generation too.
  return observed > 0 && generation - observed - (deletionIn(projection) === undefined ? 0 : 1) > 0
}

function hasAnnotations(projection: Projection, wanted: Readonly<Record<string, string>> | undefined): boolean {
  const entries = Object.entries(wanted ?? {})
  return entries.length > 0 && entries.every(([key, value]) => textAt(projection, annotation(key)) === value)
}

/** True if a user has requested a job that has not started. */
export function isJobRequested({ object }: Pick<SubjectWithJob, 'object'>): boolean {
  return !object.deleted && hasAnnotations(object.projection, steeringOf(object)?.reconcile)
}

function isReconcilePending(subject: SubjectWithJob): boolean {
  return subject.job?.outcome === null && isJobRequested(subject)
}

/** True if an interrupt of the running job lets the user's edit or deletion start. */
export function needsInterrupt(subject: SubjectWithJob): boolean {
  if (steeringOf(subject.object)?.interrupt === undefined) return false
  return isDeletionWaiting(subject) || isEdited(subject)
}

/** For `pawl why` and `pawl delete`. @param since a timestamp of Kubernetes. */
export function waitingDeletionText(name: string, since: string, now: Date): string {
  return `${name}: its deletion was requested at ${formatTime(new Date(since), now)} and waits for the running job; ${suggestedCommand('interrupt')} ends the job`
}

/** One sentence each. */
export function editSentences(subject: SubjectWithJob, now: Date): readonly string[] {
  const { object } = subject
  const { projection } = object
  const name = nameOf(object)
  const deletion = deletionIn(projection)
  const interrupt = suggestedCommand('interrupt')
  if (deletion !== undefined && isDeletionWaiting(subject))
    return [`${waitingDeletionText(name, deletion.since, now)}.`]
  if (!isEdited(subject)) return []
  const generations = `generation ${String(valueAt(projection, path('metadata.generation')))}, the job has generation ${String(valueAt(projection, path('status.observedGeneration')))}`
  return [
    `${name}: the spec was edited during the job (${generations}); the job runs with the old spec.`,
    isReconcilePending(subject)
      ? `A reconcile is requested and starts after the job. ${interrupt} ends the job and replaces the request; request it again.`
      : `No reconcile with the new spec is requested; ${interrupt} ends the job.`,
  ]
}

/** An interrupt of a job by a user. */
export interface Interrupt {
  readonly at: Date
  /** Unknown if the user did not use `pawl interrupt`. */
  readonly by: string | undefined
  readonly reason: string | undefined
}

/** The newest request in the journal to interrupt this job. @param events of the object. */
export function interruptEventOf(
  { object, job }: SubjectWithJob,
  events: readonly EventRecord[],
): EventRecord | undefined {
  const interrupt = steeringOf(object)?.interrupt
  if (job === undefined || interrupt === undefined) return undefined
  return events.findLast(
    ({ at, projection, type }) =>
      type !== 'DELETED' &&
      at >= job.startedAt &&
      (job.finishedAt === null || at <= job.finishedAt) &&
      hasAnnotations(projection, interrupt),
  )
}

/** @param record the value of the audit annotation: the user's last request, which may be a later one. */
export function interruptOf(event: EventRecord, record: string | undefined): Interrupt {
  const { what, by, why, at } = parsedRecord(record)
  // A record that was written by another computer's clock may be a few seconds off.
  const isSame = what === 'interrupt' && Math.abs(Date.parse(textOf(at)) - event.at.getTime()) < CLOCK_SKEW_MS
  return {
    at: event.at,
    by: isSame ? textOf(by) || undefined : undefined,
    reason: isSame ? textOf(why) || undefined : undefined,
  }
}

const CLOCK_SKEW_MS = 60_000

export function interruptSentence(interrupt: Interrupt, time: (at: Date) => string): string {
  return `${time(interrupt.at)} ${userText(interrupt)} interrupted the job${reasonText(interrupt)}.`
}

/** The answer of `pawl why` for a job that ended badly after an interrupt. @param tree of the job. */
export function interruptAnswer(tree: JobNode, interrupt: Interrupt, time: (at: Date) => string): string {
  const running = runningAt(tree, interrupt.at, tree.job).map(nameOf)
  const during =
    running.length === 0 ? '' : ` while ${joinNames(running, 3)} ${running.length === 1 ? 'was' : 'were'} running`
  return `${nameOf(tree.object)} is ${phaseOf(tree)}: ${userText(interrupt)} interrupted its job at ${time(interrupt.at)}${during}${reasonText(interrupt)}.`
}

/** The objects without children that started before this time and ended after it. */
function runningAt(node: JobNode, at: Date, whole: JobRecord | undefined): readonly ObjectRecord[] {
  if (node.children.length > 0) return node.children.flatMap((child) => runningAt(child, at, whole))
  const [from, to] = [startIn(node, whole), node.job?.finishedAt ?? node.object.updatedAt]
  return from !== undefined && from <= at && to >= at ? [node.object] : []
}

function userText({ by }: Interrupt): string {
  return by === undefined ? 'a user' : `${singleLine(by, 200)} (not verified)`
}

function reasonText({ reason }: Interrupt): string {
  return reason === undefined ? '' : `: ${singleLine(reason, 300)}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function parsedRecord(record = ''): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(record)
    return typeof found === 'object' && found !== null ? { ...found } : {}
  } catch (error) {
    // Any user may have written the annotation.
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

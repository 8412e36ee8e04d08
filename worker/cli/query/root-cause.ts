// Follows a job down its tree to the object that causes the wait or the failure, and explains it in sentences. Pure.
// The first sentence of an explanation is the answer of `pawl why`.

import type { AwaitedObject, PendingWake } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import {
  type GroupKind,
  groupKindText,
  isSameGroupKind,
  joinNames,
  ownerReferenceOf,
  path,
  textAt,
  withoutBugRemedy,
} from '../../../workflows/kit/index.ts'
import { isRedacted } from '../../api/redaction.ts'
import { expectedName } from '../suggestion.ts'
import { deletionOrder } from './deletion-order.ts'
import { isDeletionWaiting } from './edits-during-job.ts'
import { isInLevelMode, isLevelKind, ownFinalizer, partitionsOf, siblingsOf, steeringOf } from './explain-status.ts'
import { hasFailed, isOpen, isPickedUp, type JobNode, phaseOf, startIn } from './job-tree.ts'
import type { LiveStatus } from '../live-status.ts'
import {
  deletionIn,
  errorText,
  formatDuration,
  formatTime,
  jobIDIn,
  nameOf,
  notReadyText,
  singleLine,
} from './format.ts'

/**
 * The path from the root to the root cause: failed children first, then unfinished children, then children that cannot
 * be deleted. An interrupt ends items that the job has not started, too: they are the cause only if no other child
 * failed.
 */
export function pathToRootCause(root: JobNode): readonly JobNode[] {
  const open = root.children.filter(isOpen)
  const failed = root.children.filter(hasFailed)
  const next =
    failed.find((child) => startIn(child, root.job) !== undefined) ??
    failed[0] ??
    // In a deletion, children that wait for others are open too, and have no phase of the deletion yet.
    open.find((child) => !isDeleting(root) || isDeleting(child)) ??
    open[0] ??
    root.children.find(isDeleting)
  const needsOne = hasFailed(root) || isOpen(root) || isDeleting(root)
  return next === undefined || !needsOne ? [root] : [root, ...pathToRootCause(next)]
}

function isDeleting({ object }: JobNode): boolean {
  return !object.deleted && deletionIn(object.projection) !== undefined
}

export interface RootCauseContext {
  readonly now: Date
  /** Adds the objects that a controller in level mode watches. */
  readonly wide: boolean
  /** Names of the awaited objects that exist in the journal. */
  readonly existing: ReadonlySet<string>
  readonly wake: PendingWake | undefined
  readonly attempt: number
  /** The error that the nearest ancestor reports. */
  readonly parentError: string | undefined
  /** The status of the live object; undefined if it could not be read or tells nothing. */
  readonly status: LiveStatus | undefined
}

/** The error of the nearest ancestor that has one. The journal stores no errors of items. */
export function parentErrorIn(path: readonly JobNode[]): string | undefined {
  const reporter = path.slice(0, -1).findLast(({ job }) => errorText(job?.lastError) !== undefined)
  return reporter && `${nameOf(reporter.object)} reports: ${errorText(reporter.job?.lastError) ?? ''}.`
}

/** One sentence for each reason of the object's state, the most important first. */
export function reasonsOf(node: JobNode, context: RootCauseContext): readonly string[] {
  const [first, ...rest] = [
    ...(hasFailed(node) ? failure(node, context) : []),
    ...foreignFinalizers(node, context),
    ...(isOpen(node) ? openReasons(node, context) : restingReason(node, context)),
    ...notRequested(node),
    ...normalDeletion(node, context),
  ]
  const [pod, ...pods] = context.status?.pods ?? []
  const more = [
    pod === undefined ? '' : ` (${pod.text})`,
    ...[nextAttempt(node, context)].map((attempt) => (attempt === undefined ? '' : `; ${attempt}`)),
  ].join('')
  const sentences =
    first === undefined
      ? []
      : [more === '' ? first : `${first.replace(/\.$/, '')}${more}.`, ...pods.map(({ text }) => `${text}.`), ...rest]
  return sentences.map((sentence) => singleLine(sentence, 2000))
}

function openReasons(node: JobNode, context: RootCauseContext): readonly string[] {
  const isDeletionJob = isDeleting(node) && !isDeletionWaiting(node) && !isInLevelMode(node)
  if (isDeletionJob && context.status?.summary === undefined) return siblingWaits(node, context)
  const bug = bugSentence(node)
  if (bug !== undefined) return [bug]
  const reasons = [...retries(node, context), ...statusReason(node, context), ...waits(node, context)]
  return reasons.length > 0 ? reasons : deployerState(node, context)
}

function failure(node: JobNode, { parentError, status, now }: RootCauseContext): readonly string[] {
  const standing = `${nameOf(node.object)} is ${phaseOf(node)}`
  const error = errorText(node.job?.lastError) ?? status?.summary
  const finishedAt = node.job?.finishedAt
  // The user may have created the object since.
  const isOfMissing = finishedAt != null && / does not exist; /.test(error ?? '')
  const time = isOfMissing ? ` (error of the job that ended at ${formatTime(finishedAt, now)})` : ''
  if (error !== undefined) return [`${standing}: ${error}${time}.`]
  return [`${standing}.`, ...(parentError === undefined ? [] : [parentError])]
}

/** For a run that does not continue until its code or its object changes. */
function bugSentence({ object, job }: JobNode): string | undefined {
  const bug = bugIn(job)
  return bug && `${nameOf(object)}: the code of its controller threw an error: ${singleLine(bug)}.`
}

/** The controller, the step, the error and its place in the source; undefined if the controller threw no error. */
export function bugIn(job: JobNode['job']): string | undefined {
  const { reason, message } = job?.lastError ?? {}
  return job?.outcome === null && reason === 'Bug' && typeof message === 'string'
    ? withoutBugRemedy(message)
    : undefined
}

/** For an object whose controller reports only the condition `Ready`. */
function notReady(node: JobNode): readonly string[] {
  const { object } = node
  const text = object.deleted || !isInLevelMode(node) ? '' : notReadyText(object.projection)
  return text === '' ? [] : [`${nameOf(object)} is ${phaseOf(node)}: ${singleLine(text)}.`]
}

function retries(node: JobNode, { attempt }: RootCauseContext): readonly string[] {
  const error = errorText(node.job?.lastError)
  if (error === undefined) return []
  return [`${nameOf(node.object)} retries after an error${attempt > 0 ? ` (attempt ${attempt})` : ''}: ${error}.`]
}

/** In level mode an object without an open run has a state, too: it waits for a time or for a change. */
function restingReason(node: JobNode, context: RootCauseContext): readonly string[] {
  const { object } = node
  return isInLevelMode(node) && !object.deleted && !hasFailed(node) ? statusReason(node, context) : []
}

/** The summary of the live status, or the message that the kind lets the journal store. */
function statusReason(node: JobNode, { status, now, wide }: RootCauseContext): readonly string[] {
  const summary = storedSummary(node, status)
  if (summary === '') return notReady(node)
  const phase = phaseOf(node)
  const state = phase === '-' ? '' : ` is ${phase}`
  return [`${nameOf(node.object)}${state}: ${summaryText(summary, { now, wide })}.`]
}

function storedSummary({ object }: JobNode, status: LiveStatus | undefined): string {
  return status?.summary ?? textAt(object.projection, path('status.message')) ?? ''
}

/** The summary of a live status as `pawl why` prints it. */
export function summaryText(summary: string, { now, wide }: Pick<RootCauseContext, 'now' | 'wide'>): string {
  return wide ? summary : withLocalTimes(summary, now)
}

const TIMESTAMP = /\b(at )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/g

/** Replaces the timestamps of Kubernetes objects: by the remaining time if it is less than a minute. */
function withLocalTimes(text: string, now: Date): string {
  return text.replaceAll(TIMESTAMP, (_, at: string | undefined, time: string) => {
    const ms = Date.parse(time) - now.getTime()
    return at !== undefined && ms > 0 && ms < 60_000
      ? `in ${formatDuration(ms)}`
      : `${at ?? ''}${formatTime(new Date(time), now)}`
  })
}

/** Timestamps of Kubernetes are whole seconds. */
const ROUNDING_MS = 2000

function hasTime(text: string, at: Date): boolean {
  return [...text.matchAll(TIMESTAMP)].some(
    ([, , time = '']) => Math.abs(Date.parse(time) - at.getTime()) < ROUNDING_MS,
  )
}

/**
 * When the controller looks at the object again; undefined if a change of another object starts the next pass, or if the
 * summary of the status has this time.
 */
function nextAttempt(node: JobNode, { wake, attempt, now, status }: RootCauseContext): string | undefined {
  if (isOpen(node) && bugIn(node.job) !== undefined)
    return 'the next attempt starts when a worker with other code starts, or when the object changes'
  if (wake === undefined || hasTime(storedSummary(node, status), wake.due)) return undefined
  const what = attempt > 0 || node.job?.lastError != null || !isInLevelMode(node) ? 'attempt' : 'check'
  const ms = wake.due.getTime() - now.getTime()
  return ms <= 0 ? `the next ${what} is due` : `next ${what} in ${formatDuration(ms)}`
}

/** With the group, because two groups may have a kind of the same name. */
export function keyOf(one: GroupKind & { readonly namespace: string; readonly name: string }): string {
  return `${groupKindText(one)} ${one.namespace}/${one.name}`
}

/** A controller in level mode watches objects of its queries; it does not wait for them. */
function waits(node: JobNode, { existing, now, wide }: RootCauseContext): readonly string[] {
  const { object, awaited } = node
  const isLevel = isInLevelMode(node)
  if (isLevel && !wide) return []
  const verb = isLevel ? 'watches' : 'waits for'
  return awaited.map((one) => {
    const since = `${nameOf(object)} ${verb} ${nameOf(one)} since ${wide ? one.since.toISOString() : formatTime(one.since, now)}`
    const isMissing = !isRedacted(one.name) && one.name !== '*' && !existing.has(keyOf(one)) && verb === 'waits for'
    return isMissing ? `${since}; the journal has no such object.` : `${since}.`
  })
}

/** In a deletion: the siblings that must be deleted first, because they depend on the object. */
function siblingWaits(node: JobNode, { now }: RootCauseContext): readonly string[] {
  const deletion = deletionIn(node.object.projection)
  const siblings = awaitedSiblings(node).map(nameOf)
  if (deletion === undefined || siblings.length === 0) return []
  const names = joinNames(siblings, 5)
  return [
    `${nameOf(node.object)} is being deleted since ${formatTime(new Date(deletion.since), now)} and waits for the deletion of ${names}, which ${siblings.length === 1 ? 'imports' : 'import'} from it.`,
  ]
}

/** The awaited objects of the same kind that are not below the object. */
export function awaitedSiblings(node: JobNode): readonly AwaitedObject[] {
  const { object, awaited, children } = node
  return isInLevelMode(node)
    ? []
    : awaited.filter(
        (one) =>
          isSameGroupKind(one, object) &&
          one.name !== '*' &&
          !isRedacted(one.name) &&
          keyOf(one) !== keyOf(object) &&
          !children.some((child) => keyOf(child.object) === keyOf(one)),
      )
}

function deployerState({ object, job }: JobNode, { now }: RootCauseContext): readonly string[] {
  const partitions = partitionsOf(object)
  const type = partitions && textAt(object.projection, partitions.path)
  if (partitions === undefined || type === undefined || job !== undefined) return []
  if (isPickedUp(object) === true) {
    const since = formatTime(new Date(textAt(object.projection, path('status.lastReconcileTime')) ?? ''), now)
    return [`${nameOf(object)}: a deployer of type "${type}" works on it since ${since}.`]
  }
  const problem = `${nameOf(object)}: ${unhandledType({ object, job }) ?? ''}`
  return [
    problem.endsWith('?') ? problem : `${problem}.`,
    ...(partitions.names.includes(type)
      ? []
      : [
          `Pawl's workers handle the types ${partitions.names.join(' and ')}; another type needs its own deployer. The type of an item cannot change. Without a deployer the item fails after --pickup-timeout (default: 5m).`,
        ]),
  ]
}

/** For an item that no deployer has picked up; undefined for other objects. */
export function unhandledType({ object, job }: Pick<JobNode, 'object' | 'job'>): string | undefined {
  const partitions = partitionsOf(object)
  const type = partitions && textAt(object.projection, partitions.path)
  if (partitions === undefined || type === undefined || job !== undefined) return undefined
  if (!isOpen({ object, job }) || isPickedUp(object) === true) return undefined
  const { names, flag } = partitions
  const problem = `spec.type: no deployer has picked up type "${type}"`
  if (names.includes(type)) return `${problem}; a worker with --${flag} ${type} must run`
  return `${problem}; ${expectedName(type, names)}`
}

/** For an object without any job. */
function notRequested({ object, job }: JobNode): readonly string[] {
  const isStarted = job !== undefined || jobIDIn(object.projection) !== undefined
  if (isStarted || object.deleted || isLevelKind(object)) return []
  const siblings = siblingsOf(object)
  const after = siblings?.after && textAt(object.projection, siblings.after)
  if (after !== undefined && after !== '') return [`${nameOf(object)} has not started: it comes after ${after}.`]
  return []
}

function foreignFinalizers({ object }: JobNode, { now }: RootCauseContext): readonly string[] {
  const deletion = object.deleted ? undefined : deletionIn(object.projection)
  const foreign = (deletion?.finalizers ?? []).filter((finalizer) => finalizer !== ownFinalizer(object))
  if (deletion === undefined || foreign.length === 0) return []
  const since = formatTime(new Date(deletion.since), now)
  return [
    `${nameOf(object)} is being deleted since ${since}; another controller must remove ${foreign.length === 1 ? 'the finalizer' : 'the finalizers'} ${foreign.join(', ')}.`,
  ]
}

function normalDeletion(node: JobNode, { now }: RootCauseContext): readonly string[] {
  const deletion = node.object.deleted ? undefined : deletionIn(node.object.projection)
  if (deletion === undefined || hasFailed(node) || isDeletionWaiting(node)) return []
  const order = deletionOrder(node)
  const since = formatTime(new Date(deletion.since), now)
  return [`${nameOf(node.object)} is being deleted since ${since}${order === undefined ? '' : `: ${order}`}.`]
}

/** For an object that is not part of a job of its owner. */
export function notRequestedSentences(object: ObjectRecord, job: JobRecord | undefined): readonly string[] {
  if (!isNeverRequested(object, job) || steeringOf(object)?.reconcile === undefined) return []
  return ownerReferenceOf(object.projection) === undefined
    ? [`${nameOf(object)}: no job was requested; request one with pawl reconcile.`]
    : [`${nameOf(object)}: the job of its owner has not started it.`]
}

/** True if the object never had a job. @param job its newest job. */
export function isNeverRequested(object: ObjectRecord, job: JobRecord | undefined): boolean {
  return job === undefined && !object.deleted && jobIDIn(object.projection) === undefined
}

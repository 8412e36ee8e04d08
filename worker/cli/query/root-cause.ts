// Follows a job down its tree to the object that causes the wait or the failure, and explains it in sentences. Pure.

import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { type GroupKind, groupKindText, path, textAt } from '../../../workflows/kit/index.ts'
import { isRedacted } from '../../api/redaction.ts'
import { hasFailed, isOpen, type JobNode, phaseOf } from './job-tree.ts'
import { deletionIn, errorText, nameOf, singleLine } from './format.ts'

/**
 * The path from the root to the root cause: failed children first, then unfinished children, then children that cannot
 * be deleted.
 */
export function pathToRootCause(root: JobNode): readonly JobNode[] {
  const next =
    root.children.find(hasFailed) ??
    root.children.find(isOpen) ??
    root.children.find(({ object }) => !object.deleted && deletionIn(object.projection) !== undefined)
  const needsOne =
    hasFailed(root) || isOpen(root) || (!root.object.deleted && deletionIn(root.object.projection) !== undefined)
  return next === undefined || !needsOne ? [root] : [root, ...pathToRootCause(next)]
}

export interface RootCauseContext {
  /** Names of the awaited objects that exist in the journal. */
  readonly existing: ReadonlySet<string>
  readonly wake: string | undefined
  readonly attempt: number
  /** The error that the nearest ancestor reports. */
  readonly parentError: string | undefined
}

/** The error of the nearest ancestor that has one. The journal stores no errors of items. */
export function parentErrorIn(path: readonly JobNode[]): string | undefined {
  const reporter = path.slice(0, -1).findLast(({ job }) => errorText(job?.lastError) !== undefined)
  return reporter && `${nameOf(reporter.object)} says: ${errorText(reporter.job?.lastError) ?? ''}.`
}

/** One sentence for each reason of the object's state. */
export function reasonsOf(node: JobNode, context: RootCauseContext): readonly string[] {
  return [
    ...(hasFailed(node) ? failure(node, context) : []),
    ...(isOpen(node) ? [...retries(node, context), ...waits(node, context), ...deployerState(node)] : []),
    ...deletionState(node),
    ...statusMessage(node.object),
    ...(context.wake === undefined ? [] : [`The next look at ${nameOf(node.object)} is due: ${context.wake}.`]),
  ].map((sentence) => singleLine(sentence, 2000))
}

/** The status message, if the kind lets the journal store it. */
function statusMessage(object: ObjectRecord): readonly string[] {
  const message = textAt(object.projection, MESSAGE)
  return message === undefined || message === '' ? [] : [`${nameOf(object)} says: ${message}.`]
}

const MESSAGE = path('status.message')

function failure(node: JobNode, { parentError: above }: RootCauseContext): readonly string[] {
  const standing = `${nameOf(node.object)} is ${phaseOf(node)}`
  const error = errorText(node.job?.lastError)
  if (error !== undefined) return [`${standing}: ${error}.`]
  return [`${standing}.`, ...(above === undefined ? [] : [above])]
}

function retries(node: JobNode, { attempt }: RootCauseContext): readonly string[] {
  const error = errorText(node.job?.lastError)
  if (error === undefined) return []
  return [`${nameOf(node.object)} met an error and tries again${attempt > 0 ? ` (attempt ${attempt})` : ''}: ${error}.`]
}

/** With the group, because two groups may have a kind of the same name. */
export function keyOf(one: GroupKind & { readonly namespace: string; readonly name: string }): string {
  return `${groupKindText(one)} ${one.namespace}/${one.name}`
}

function waits({ object, awaited }: JobNode, { existing: there }: RootCauseContext): readonly string[] {
  return awaited.map((one) => {
    if (isRedacted(one.name)) return `${nameOf(object)} waits for ${nameOf(one)} since ${one.since.toISOString()}.`
    const state = there.has(keyOf(one)) ? 'which is there' : 'which the journal does not have'
    return `${nameOf(object)} waits for ${nameOf(one)} since ${one.since.toISOString()}, ${state}.`
  })
}

function deployerState({ object, job }: JobNode): readonly string[] {
  const type = textAt(object.projection, path('spec.type'))
  if (type === undefined || job !== undefined) return []
  const since = textAt(object.projection, path('status.jobIDGenerationTime'))
  const pickedUpAt = textAt(object.projection, path('status.lastReconcileTime'))
  if (pickedUpAt !== undefined && since !== undefined && Date.parse(pickedUpAt) >= Date.parse(since))
    return [`The deployer of type ${type} works on ${nameOf(object)} since ${pickedUpAt}.`]
  return [
    `No deployer has picked ${nameOf(object)} up${since === undefined ? '' : ` since ${since}`}: see whether one that serves its type, ${type}, runs.`,
  ]
}

function deletionState({ object }: JobNode): readonly string[] {
  const deletion = object.deleted ? undefined : deletionIn(object.projection)
  if (deletion === undefined) return []
  const { since, finalizers } = deletion
  const why =
    finalizers.length === 0
      ? 'no finalizer holds it'
      : `it goes when these finalizers are gone: ${finalizers.join(', ')}`
  return [`${nameOf(object)} is being deleted since ${since}; ${why}.`]
}

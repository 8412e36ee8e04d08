// Explains what blocks a deletion, down to the finalizer and its owner, and what the user can do. Pure.

import type { KubeObject } from '../../../activities/kube/client.ts'
import { type GroupKind, path, textAt, valueAt } from '../../../workflows/kit/index.ts'
import { explainStatus } from '../query/explain-status.ts'
import { waitingDeletionText } from '../query/edits-during-job.ts'
import { errorText, isBad, isBusy, nameOf, phaseIn, singleLine } from '../query/format.ts'
import { suggestedCommand } from '../suggestion.ts'
import { childrenFirst, type LiveNode } from './live-tree.ts'

/** Exit code when a user or another program must act before the object goes. */
export const HELD_UP = 3

interface BlockingFinalizer {
  readonly finalizer: string
  /** The field manager that set the finalizer; null if the API server does not know it. */
  readonly setBy: string | null
  /** True if the deletion job removes it. */
  readonly isOurs: boolean
}

/** An object without remaining children that still exists. */
export interface Blocker {
  readonly object: string
  /** Null if the object is not being deleted. */
  readonly since: string | null
  readonly phase: string | null
  readonly error: string | null
  /** The causes that the object waits for: objects, or a user's action. */
  readonly waits: readonly string[]
  readonly finalizers: readonly BlockingFinalizer[]
  /** True if only a user can continue the deletion. */
  readonly isStuck: boolean
}

/** The lowest objects of the tree, and the objects above them that foreign finalizers block as well. */
export function blockersOf(node: LiveNode): readonly Blocker[] {
  const below = node.children.flatMap(blockersOf)
  const own = blockerOf(node)
  return node.children.length === 0 || isHeldByOthers(own.finalizers) || own.waits.length > 0 ? [...below, own] : below
}

/** The object whose running job the deletion waits for; undefined if the deletion has started. `pawl interrupt` ends the job. */
export function runningJobBlocker(root: LiveNode, now: Date): Blocker | undefined {
  const own = blockerOf(root)
  const isRunning = isBusy(root.object) && !/delet/i.test(own.phase ?? '') && !isPaused(root)
  // A deletion ends a job that has deployed nothing yet.
  const isDeploying = root.children.some(({ object }) => isBusy(object))
  if (own.since === null || !isRunning || !isDeploying || root.kind.steering.interrupt === undefined) return undefined
  return { ...own, waits: [waitingDeletionText(own.object, own.since, now), ...own.waits], isStuck: true }
}

/** A worker starts the job of a deletion within this time, unless the job waits for other objects. */
const START_MS = 30_000

/** The object whose deletion has started no job for 30 s, although nothing is known that it waits for. */
export function unstartedDeletion(root: LiveNode, now: Date): Blocker | undefined {
  const own = blockerOf(root)
  const isLate = own.since !== null && now.getTime() - Date.parse(own.since) > START_MS
  const isOurs = own.finalizers.some((one) => one.isOurs)
  if (!isLate || !isOurs || own.isStuck || own.waits.length > 0 || isBusy(root.object)) return undefined
  return { ...own, waits: [`no job has started; ${suggestedCommand('doctor')} checks Pawl's worker and bridge`] }
}

/** Whether a finalizer of another program blocks the deletion, now or as soon as the object is in deletion. */
export function isHeldByOthers(finalizers: readonly BlockingFinalizer[]): boolean {
  return finalizers.some(({ isOurs }) => !isOurs)
}

function blockerOf(node: LiveNode): Blocker {
  const { kind, object } = node
  const { metadata } = object
  const phase = phaseIn(object) ?? null
  const since = metadata.deletionTimestamp ?? null
  const finalizers = finalizersOf(object, kind.steering.finalizer)
  return {
    object: nameOf({ kind: kind.kind, namespace: metadata.namespace ?? '', name: metadata.name }),
    since,
    phase,
    error:
      errorText(valueAt(object, path('status.lastError')) as Readonly<Record<string, unknown>> | undefined) ?? null,
    waits: waitsIn(kind, object),
    finalizers,
    isStuck: isHeldByOthers(finalizers) || (since !== null && (isBad(phase ?? undefined) || isPaused(node))),
  }
}

/** @param own the finalizer that Pawl's controller of the kind removes; undefined if it adds none. */
export function finalizersOf(object: KubeObject, own: string | undefined): readonly BlockingFinalizer[] {
  return (object.metadata.finalizers ?? []).map((finalizer) => ({
    finalizer,
    setBy: managerOf(object, finalizer) ?? null,
    isOurs: finalizer === own,
  }))
}

function managerOf({ metadata }: KubeObject, finalizer: string): string | undefined {
  const owner = metadata.managedFields?.find(({ fieldsV1 }) => {
    const fields = fieldsV1?.['f:metadata']?.['f:finalizers'] as Readonly<Record<string, unknown>> | undefined
    return fields?.[`v:"${finalizer}"`] !== undefined
  })
  return owner?.manager
}

/** True if the status says that the object is paused. */
function isPaused({ kind: { steering }, object }: LiveNode): boolean {
  return steering.pause !== undefined && valueAt(object, steering.pause.statusPath) !== undefined
}

/** The waits that the conditions report, and the reason why a running deletion has not ended. */
function waitsIn(kind: GroupKind, object: KubeObject): readonly string[] {
  const isRunning = object.metadata.deletionTimestamp !== undefined && isBusy(object)
  const summary = isRunning ? explainStatus(kind, object).summary : undefined
  const found = valueAt(object, path('status.conditions'))
  const conditions: readonly object[] = Array.isArray(found) ? found : []
  const waits = conditions.flatMap((one) => {
    const message = textAt(one, ['message']) ?? ''
    const type = textAt(one, ['type']) ?? ''
    const isWait = textAt(one, ['status']) === 'True' && (type.startsWith('Waits') || type === 'Paused')
    return isWait && message !== '' ? [singleLine(message, 500)] : []
  })
  return [...waits, ...(summary === undefined ? [] : [singleLine(summary, 500)])]
}

/** Whether the blocker needs attention: a deletion that only has to wait for its turn does not. */
export function isNotable({ since, error, phase, waits, isStuck }: Blocker): boolean {
  if (isStuck || waits.length > 0) return true
  return since !== null && (error !== null || isBad(phase ?? undefined))
}

export function blockerLines({ object, since, phase, error, waits, finalizers }: Blocker): readonly string[] {
  const state = since === null ? 'not in deletion yet' : `in deletion since ${since}`
  const inPhase = phase === null ? '' : `, phase ${singleLine(phase, 60)}`
  return [
    `${object}: ${state}${inPhase}${error === null ? '' : `: ${error}`}`,
    ...waits.map((wait) => `  ${wait}`),
    ...finalizers.filter(({ isOurs }) => since !== null || !isOurs).map((one) => `  ${finalizerLine(one)}`),
  ]
}

/** @param own what removes the finalizer of Pawl, and when. */
export function finalizerLine(
  { finalizer, setBy, isOurs }: BlockingFinalizer,
  own = 'the deletion job removes it when it succeeds',
): string {
  const by = setBy === null ? '' : `, set by "${singleLine(setBy, 100)}"`
  const remover = isOurs ? own : 'the program that set it must remove it'
  return `finalizer "${singleLine(finalizer, 200)}"${by}: ${remover}`
}

/** Commands that continue the deletion, with their effects. @param words the object and the user's flags. */
export function remedies(root: LiveNode, blockers: readonly Blocker[], words: string): readonly string[] {
  if (!blockers.some(({ isStuck }) => isStuck)) return []
  const { steering } = root.kind
  const isFailed = isBad(phaseIn(root.object))
  const isLeft =
    steering.orphan !== undefined &&
    Object.entries(steering.orphan).every(([key, value]) => root.object.metadata.annotations?.[key] === value)
  // Without a failed uninstall, there is nothing to skip: a finalizer of another program stays.
  const hasFailed = isFailed || blockers.some(({ phase }) => isBad(phase ?? undefined))
  const command = (args: string, effect: string) => `  ${suggestedCommand(args)}: ${effect}`
  return [
    'when the cause is fixed, or cannot be fixed:',
    ...(isPaused(root) ? [command(`resume ${words}`, 'resumes the object')] : []),
    ...(isFailed && steering.reconcile !== undefined ? [command(`reconcile ${words}`, 'retries the deletion')] : []),
    ...foreignFinalizerRemedies(root),
    ...(steering.orphan === undefined || isLeft || !hasFailed
      ? []
      : [command(`delete ${words} --without-uninstall`, 'deletes the object and keeps the deployed objects')]),
    command(
      `delete ${words} --force --reason TEXT`,
      'removes all finalizers, also those of other programs; the deployed objects stay, and Pawl no longer knows them',
    ),
  ]
}

const MOST_EDITS = 5

/** One command for each object that has a finalizer of another program. */
function foreignFinalizerRemedies(root: LiveNode): readonly string[] {
  const all = childrenFirst(root).flatMap(({ kind, object }) => {
    const names = finalizersOf(object, kind.steering.finalizer).flatMap(({ finalizer, isOurs }) =>
      isOurs ? [] : [`"${singleLine(finalizer, 200)}"`],
    )
    const { namespace = '', name } = object.metadata
    const effect = `remove ${names.join(' and ')} if the program that set it no longer runs`
    return names.length === 0 ? [] : [`  kubectl edit ${kind.kind.toLowerCase()}/${name} -n ${namespace}: ${effect}`]
  })
  return all.slice(0, MOST_EDITS)
}

// The next useful command after `pawl why`, `get` and `trace`, with the flags that the user needs again.

import { join } from 'node:path'

import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { type GroupKind, ownerReferenceOf, textAt } from '../../../workflows/kit/index.ts'
import { isInLevelMode, isLevelKind, ownFinalizer, partitionsOf, resourceOfKind, steeringOf } from './explain-status.ts'
import { hasFailed, isOpen, type JobNode } from './job-tree.ts'
import type { LiveStatus } from '../live-status.ts'
import type { JournalFlags } from './open-journal.ts'
import { suggestedCommand } from '../suggestion.ts'
import { needsInterrupt } from './edits-during-job.ts'
import { bugIn, isNeverRequested, pathToRootCause } from './root-cause.ts'
import { pausedText } from './waiting.ts'
import { deletionIn } from './format.ts'

interface NextStepInput {
  /** From the object to the root cause. */
  readonly path: readonly JobNode[]
  readonly status: LiveStatus | undefined
  /** The command that ends the wait of the first object in `path`, if its kind names one. */
  readonly command?: string | undefined
  /** True if a user interrupted the job. */
  readonly isInterrupted?: boolean
  /** True if the journal has an earlier job of the object. */
  readonly hasEarlierJob?: boolean
  /** True if users changed the spec or an input after the last job started. */
  readonly isOutdated?: boolean
  /** The sibling that the root cause waits for. */
  readonly awaitedSibling?: ObjectRecord | undefined
  /** The object as the user wrote it. */
  readonly words: readonly string[]
  readonly flags: JournalFlags
}

/** One line, such as `next: pawl trace inst/shop -w`. */
export function nextStep(input: NextStepInput): string {
  const { command, flags } = input
  return `next: ${command === undefined ? stepOf(input) : suggestedCommand(`${command}${placeFlags(flags)}`)}`
}

function stepOf(input: NextStepInput): string {
  const { path, status, words, flags, isInterrupted, isOutdated, awaitedSibling } = input
  const [subject] = path
  const cause = path.at(-1)
  if (subject === undefined || cause === undefined) return suggestedCommand(`get${queryFlags(flags)}`)
  const [pod] = status?.pods ?? []
  const name = wordsText(words)
  const steered = steerStep(subject, { name, flags })
  if (steered !== undefined) return steered
  if (isInterrupted === true && hasFailed(subject)) return jobStep(subject.object, name, flags)
  if (pod !== undefined) return `${podStep(pod, flags)}${interruptText(subject, { name, flags })}`
  const problem = problemStep(subject, cause, { name, flags })
  if (problem !== undefined) return problem
  if (awaitedSibling !== undefined) return whyStep(awaitedSibling, flags)
  if (isOutdated === true) return jobStep(subject.object, name, flags)
  return progressStep(subject, { name, flags, past: pastCommand(input) })
}

/** `pawl diff` needs two jobs. */
function pastCommand({ hasEarlierJob }: NextStepInput): string {
  return hasEarlierJob === true ? 'diff' : 'history'
}

/** For a request of a user that waits. */
function steerStep(subject: JobNode, { name, flags }: Wanted): string | undefined {
  const isPaused = pausedText(subject.object)?.startsWith('paused') === true
  const isDeleting = !subject.object.deleted && deletionIn(subject.object.projection) !== undefined
  if (needsInterrupt(subject)) return suggestedCommand(`interrupt ${name}${steerFlags(flags)}`)
  return isPaused && isDeleting ? suggestedCommand(`resume ${name}${steerFlags(flags)}`) : undefined
}

/** For a pod of a running job that a changed spec fixes: the job keeps the spec of its start. */
function interruptText(subject: JobNode, { name, flags }: Wanted): string {
  const { object } = subject
  if (!isOpen(subject) || deletionIn(object.projection) !== undefined) return ''
  if (steeringOf(object)?.interrupt === undefined) return ''
  return `; if the spec is wrong: ${suggestedCommand(`interrupt ${name}${steerFlags(flags)}`)}, then apply the corrected spec; ${jobAfterEdit(object, name, flags)}`
}

/** An applied manifest may have the annotation that requests a job; a second request would start a second job. */
function jobAfterEdit(object: ObjectRecord, name: string, flags: JournalFlags): string {
  return `if no job starts by itself: ${jobStep(object, name, flags)}`
}

interface Wanted {
  readonly name: string
  readonly flags: JournalFlags
}

/** For a problem that a user must solve. */
function problemStep({ object, job }: JobNode, cause: JobNode, { name, flags }: Wanted): string | undefined {
  if (hasForeignFinalizer(cause.object)) return suggestedCommand(`delete ${name}${steerFlags(flags)}`)
  if (isOpen(cause) && bugIn(cause.job) !== undefined) return bugStep(cause, flags)
  if (hasFailed(cause)) return `fix the cause, then ${jobStep(object, name, flags)}`
  if (isUnknownType(cause))
    return `start a deployer of the type; or ${suggestedCommand(`interrupt ${name}${steerFlags(flags)}`)}, then apply the item with a new name and the right type (the type of an item cannot change); ${jobAfterEdit(object, name, flags)}`
  const fix = isOpen(cause) && isInLevelMode(cause) ? faultStep(cause) : undefined
  if (fix !== undefined) return fix
  return isNeverRequested(object, job) && !isLevelKind(object) ? jobStep(object, name, flags) : undefined
}

/** For a final fault in level mode whose fix is known. */
function faultStep({ job }: JobNode): string | undefined {
  const { reason, message } = job?.lastError ?? {}
  if (reason === 'Invalid' && typeof message === 'string' && message.includes('unknown field'))
    return 'add the field to the kind, regenerate the CRD (pawl gen crd) and apply it, then change the object'
  return typeof reason === 'string' ? FIXES.get(reason) : undefined
}

const FIXES = new Map([
  [
    'StateNotOwned',
    'rename one of the objects; to adopt the object, remove owned from the state and restart the worker',
  ],
  ['SecretContent', 'use secretRef for the values and restart the worker'],
])

function bugStep({ object, job }: JobNode, flags: JournalFlags): string {
  const { kind, namespace, name } = object
  const where = namespace === '' ? flags : { ...flags, namespace }
  const [, place = 'the code'] = /\(([^()\s]+:\d+:\d+)\)$/.exec(bugIn(job) ?? '') ?? []
  return nextAfterBug([`${kind.toLowerCase()}/${name}`], where, place)
}

/** For a run whose code threw an error. @param place the file with line and column, or `the code`. */
export function nextAfterBug(words: readonly string[], flags: JournalFlags, place = 'the code'): string {
  return `fix ${place} and restart the worker, which runs the pass again; follow it with ${nextQuery('trace', [...words, '-w'], flags)}`
}

/** @param past the command for an object whose job has ended. */
function progressStep(subject: JobNode, { name, flags, past }: Wanted & { readonly past: string }): string {
  const { object } = subject
  if (isInLevelMode(subject)) return eventsStep(object, flags)
  const isInProgress = !object.deleted && (isOpen(subject) || deletionIn(object.projection) !== undefined)
  return suggestedCommand(`${isInProgress ? 'trace' : past} ${name}${isInProgress ? ' -w' : ''}${queryFlags(flags)}`)
}

/** The object as `kind/name`, and the further words, such as a job ID. */
function wordsText(words: readonly string[]): string {
  const [kind = '', name, ...more] = words
  return name === undefined || kind.includes('/') ? words.join(' ') : [`${kind}/${name}`, ...more].join(' ')
}

/** A command about the same object in the same journal, such as `pawl diff inst/shop -n team-a`. */
export function nextQuery(command: string, words: readonly string[], flags: JournalFlags): string {
  return suggestedCommand(`${command} ${wordsText(words)}${queryFlags(flags)}`)
}

/**
 * `pawl replay` of an object. A command has no controllers of users, so it needs `--controllers` for their kinds.
 *
 * @param kind undefined after a replay: if it needed modules, the user gave them.
 */
export function nextReplay(kind: GroupKind | undefined, words: readonly string[], flags: ReplayFlags): string {
  const isOwnKind = kind !== undefined && resourceOfKind(kind) === undefined
  const code = [
    flagText('--controllers', flags.controllers) || (isOwnKind ? ' --controllers FILE' : ''),
    flagText('--workflow-bundle', flags.workflowBundle),
    flagText('--payload-key', flags.payloadKey),
  ]
  return `${nextQuery('replay', words, flags)}${code.join('')}`
}

/** The code and the keys that the user gave. */
interface ReplayFlags extends JournalFlags {
  readonly controllers?: string
  readonly workflowBundle?: string
  readonly payloadKey?: string
}

/** The last line of `pawl trace`: the object that needs attention. The present state of an object may not belong to an earlier job. */
export function nextAfterTrace(
  tree: JobNode,
  words: readonly string[],
  flags: JournalFlags & { readonly job?: string },
): string {
  const name = wordsText(words)
  if (isNeverRequested(tree.object, tree.job) && steeringOf(tree.object)?.reconcile !== undefined)
    return `next: ${jobStep(tree.object, name, flags)}`
  if (!hasFailed(tree) && !isOpen(tree)) return `next: ${nextQuery('history', words, flags)}`
  if (flags.job !== undefined) return `next: ${nextQuery('why', words, flags)}${flagText('--job', flags.job)}`
  const cause = pathToRootCause(tree).at(-1) ?? tree
  return `next: ${cause === tree ? nextQuery('why', words, flags) : whyStep(cause.object, flags)}`
}

/** The line below `pawl get`. @param object the first one that is not ready. */
export function nextAfterGet(object: ObjectRecord, flags: JournalFlags): string {
  return `next: ${whyStep(object, flags)}`
}

function whyStep({ kind, namespace, name }: ObjectRecord, flags: JournalFlags): string {
  const { allNamespaces } = flags as { readonly allNamespaces?: boolean }
  const place = allNamespaces === true ? { ...flags, namespace } : flags
  return suggestedCommand(`why ${kind.toLowerCase()}/${name}${queryFlags(place)}`)
}

function podStep({ pod: { namespace, name }, hasCrashed }: LiveStatus['pods'][number], flags: JournalFlags): string {
  const place = kubectlFlags(flags, namespace)
  return hasCrashed ? `kubectl logs ${name} --previous${place}` : `kubectl describe pod ${name}${place}`
}

function eventsStep({ kind, namespace, name }: ObjectRecord, flags: JournalFlags): string {
  return `kubectl events --for ${kind.toLowerCase()}/${name}${kubectlFlags(flags, namespace)}`
}

/** A root gets a job of its own; an item is retried alone. */
function jobStep(object: ObjectRecord, name: string, flags: JournalFlags): string {
  const steering = steeringOf(object)
  const isRoot = ownerReferenceOf(object.projection) === undefined
  if (isRoot && steering?.reconcile !== undefined) return suggestedCommand(`reconcile ${name}${steerFlags(flags)}`)
  if (steering?.retry !== undefined) return suggestedCommand(`retry ${name}${steerFlags(flags)}`)
  return suggestedCommand(`graph ${name}${queryFlags(flags)}`)
}

function hasForeignFinalizer(object: ObjectRecord): boolean {
  const finalizers = object.deleted ? [] : (deletionIn(object.projection)?.finalizers ?? [])
  return finalizers.some((finalizer) => finalizer !== ownFinalizer(object))
}

function isUnknownType({ object, job }: JobNode): boolean {
  const partitions = partitionsOf(object)
  const type = partitions && textAt(object.projection, partitions.path)
  return job === undefined && type !== undefined && partitions?.names.includes(type) === false
}

/** The flags of commands that query the journal. */
function queryFlags(flags: JournalFlags): string {
  const { databaseUrl, apiUrl, apiService, cluster } = flags
  return [
    steerFlags(flags),
    flagText('--database-url', databaseUrl && withoutPassword(databaseUrl)),
    flagText('--api-url', apiUrl),
    flagText('--api-service', apiService),
    flagText('--cluster', cluster === 'local' ? undefined : cluster),
  ].join('')
}

/** The flags of commands that change objects. */
function steerFlags(flags: JournalFlags): string {
  return `${flagText('-n', flags.namespace)}${placeFlags(flags)}`
}

/** The flags that select the cluster. */
function placeFlags({ context, kubeconfig, dataDir }: JournalFlags): string {
  return [flagText('--context', context), flagText('--kubeconfig', kubeconfig), flagText('--data-dir', dataDir)].join(
    '',
  )
}

function kubectlFlags({ context, kubeconfig, dataDir }: JournalFlags, namespace: string): string {
  return [
    flagText('-n', namespace),
    flagText('--context', context),
    flagText('--kubeconfig', kubeconfig ?? (dataDir && join(dataDir, 'kubeconfig'))),
  ].join('')
}

function flagText(flag: string, value: string | undefined): string {
  if (value === undefined || value === '') return ''
  return ` ${flag} ${/^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`}`
}

/** Terminals and logs keep what they show. */
function withoutPassword(databaseUrl: string): string {
  const url = URL.parse(databaseUrl)
  if (url === null || url.password === '') return databaseUrl
  url.password = 'PASSWORD'
  return url.href
}

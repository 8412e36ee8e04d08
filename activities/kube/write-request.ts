// One write to one object, conditional on its observed version, and the conflicts that its answer may report: another writer was faster, an object of
// this name exists, or the object is gone. write.ts sends writes in batches and journals the answers.
//
//   R1. After a conflict the write is decided again on the current object, at most CONFLICT_TRIES times.
//   R2. A refused or unanswered request is an answer with the result 'failed', without the texts in `redacted`.

import type { WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from './client.ts'
import { resourcePath } from './resource-path.ts'
import type { Patch } from './merge-patch.ts'
import type { StoredAs } from './object-views.ts'
import { isAlreadyExists, isConflict, isNotFound, KubeError } from './errors.ts'

/** The writing run, its pass and step. */
export interface Writer {
  readonly workflowID: string
  readonly runID: string
  readonly pass: number
  readonly step: string
  readonly fieldManager: string
  /** uids of all objects whose job this run executes: writes to them and to their children do not wake them. */
  readonly tree?: readonly string[]
}

/** The object to write: its kind, namespace and name. */
interface Target<Watched extends WatchedKind = WatchedKind> {
  readonly watched: Watched
  readonly namespace: string
  readonly name: string
  /** The server refuses unknown fields; otherwise it drops them silently. */
  readonly isStrict?: true
  /** Texts to remove from error messages. */
  readonly redacted?: readonly string[]
}

// Callbacks are methods: a batch may contain writes of several kinds, and each callback accepts objects of its kind
// only. `isOurs`: whether an earlier attempt of this write created the existing object of this name.
export type Write<Watched extends WatchedKind = WatchedKind> = Target<Watched> &
  (
    | { readonly verb: 'create'; readonly body: KubeObject; isOurs(existing: StoredAs<Watched>): boolean }
    /**
     * A JSON merge patch of the object or its status, on `version`. After a conflict `reapply` receives the current
     * object and returns a new patch, 'done' when no change is needed, or 'superseded' when the field is no longer ours
     * to write.
     */
    | {
        readonly verb: 'patch' | 'patchStatus'
        readonly version: string
        readonly patch: Patch
        reapply(current: StoredAs<Watched>): Patch | 'done' | 'superseded'
      }
    /**
     * A delete of the object with this uid, on `version` if given. After a conflict it is repeated on the current
     * version, with two exceptions. `isFenced`: the write fails with the conflict. `isMeant`: an object for which it
     * returns false is not deleted, and the answer is 'superseded'.
     */
    | {
        readonly verb: 'delete'
        readonly uid: string
        readonly version: string | undefined
        readonly isFenced?: true
        isMeant?(current: StoredAs<Watched>): boolean
      }
  )

export type WriteAnswer<Watched extends WatchedKind = WatchedKind> =
  /**
   * `object` is the server's current object; `wrote` is false when it already had the wanted state. `conflicted`:
   * another writer may have changed the object since the run observed it, so the journal counts the event as foreign,
   * and it may wake the run.
   */
  | { readonly result: 'ok'; readonly object: StoredAs<Watched>; readonly wrote: boolean; readonly conflicted: boolean }
  /** No object with this name, or this uid, exists any more. */
  | { readonly result: 'gone' }
  /**
   * Nothing was written, because `isOurs`, `reapply` or `isMeant` refused it for the current `object`, or because the
   * run's job is over (W5).
   */
  | { readonly result: 'superseded'; readonly object: StoredAs<Watched> }
  | { readonly result: 'failed'; readonly error: KubeError }

const CONFLICT_TRIES = 5

/** Sends one write. @throws the abort error of `signal`; a plain Error (a bug). */
export async function sendOne(
  deps: Deps,
  writer: Writer,
  write: Write,
  signal: AbortSignal | undefined,
): Promise<WriteAnswer> {
  try {
    switch (write.verb) {
      case 'create':
        return await create(deps, writer, write, signal)
      case 'delete':
        return await remove(deps, write, signal)
      case 'patch':
      case 'patchStatus':
        return await patch(deps, writer, write, signal)
    }
  } catch (error) {
    if (isNotFound(error)) return { result: 'gone' }
    if (error instanceof KubeError) return { result: 'failed', error: error.redacting(write.redacted ?? []) }
    throw error
  }
}

interface ReadInstead {
  readonly answer: WriteAnswer
  /** The write would have changed the object; it was not sent only because the run's job is over. */
  readonly isWithheld: boolean
}

/** Reads the object of a write that must not be sent, and compares it with the wanted state. */
export async function readOne(kube: Deps['kube'], write: Write, signal: AbortSignal | undefined): Promise<ReadInstead> {
  try {
    return stateOf(write, await kube.request<KubeObject>('GET', pathOf(write), { signal }))
  } catch (error) {
    if (isNotFound(error)) return { answer: { result: 'gone' }, isWithheld: write.verb === 'create' }
    if (error instanceof KubeError) return { answer: { result: 'failed', error }, isWithheld: false }
    throw error
  }
}

function stateOf(write: Write, object: KubeObject): ReadInstead {
  if (write.verb === 'delete' && object.metadata.uid !== write.uid)
    return { answer: { result: 'gone' }, isWithheld: false }
  const left = remainingWrite(write, object)
  if (left === 'done') return { answer: { result: 'ok', object, wrote: false, conflicted: true }, isWithheld: false }
  return { answer: { result: 'superseded', object }, isWithheld: left === 'write' }
}

function remainingWrite(write: Write, found: KubeObject): 'write' | 'done' | 'superseded' {
  switch (write.verb) {
    case 'create':
      return write.isOurs(found) ? 'done' : 'superseded'
    case 'delete':
      return found.metadata.deletionTimestamp === undefined ? 'write' : 'done'
    case 'patch':
    case 'patchStatus': {
      const left = write.reapply(found)
      return typeof left === 'string' ? left : 'write'
    }
  }
}

async function create(
  deps: Deps,
  writer: Writer,
  write: Write & { verb: 'create' },
  signal: AbortSignal | undefined,
): Promise<WriteAnswer> {
  try {
    const object = await deps.kube.request<KubeObject>('POST', resourcePath(write.watched, write.namespace), {
      query: queryOf(writer, write),
      body: write.body,
      signal,
    })
    return { result: 'ok', object, wrote: true, conflicted: false }
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const existing = await deps.kube.request<KubeObject>('GET', pathOf(write), { signal })
    if (!write.isOurs(existing)) return { result: 'superseded', object: existing }
    return { result: 'ok', object: existing, wrote: false, conflicted: false }
  }
}

async function remove(
  deps: Deps,
  write: Write & { verb: 'delete' },
  signal: AbortSignal | undefined,
): Promise<WriteAnswer> {
  let version = write.version
  for (let attempt = 1; ; attempt++) {
    try {
      const preconditions = { uid: write.uid, ...(version !== undefined && { resourceVersion: version }) }
      const object = await deps.kube.request<KubeObject>('DELETE', pathOf(write), {
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy: 'Background' },
        signal,
      })
      return { result: 'ok', object, wrote: true, conflicted: attempt > 1 }
    } catch (error) {
      if (!isConflict(error) || attempt === CONFLICT_TRIES || write.isFenced === true) throw error
      const current = await deps.kube.request<KubeObject>('GET', pathOf(write), { signal })
      if (current.metadata.uid !== write.uid) return { result: 'gone' }
      if (current.metadata.deletionTimestamp !== undefined)
        return { result: 'ok', object: current, wrote: false, conflicted: true }
      if (write.isMeant?.(current) === false) return { result: 'superseded', object: current }
      version = current.metadata.resourceVersion
    }
  }
}

async function patch(
  deps: Deps,
  writer: Writer,
  write: Write & { verb: 'patch' | 'patchStatus' },
  signal: AbortSignal | undefined,
): Promise<WriteAnswer> {
  let body = onVersion(write.patch, write.version)
  for (let attempt = 1; ; attempt++) {
    try {
      const object = await deps.kube.request<KubeObject>('PATCH', pathOf(write, write.verb === 'patchStatus'), {
        query: queryOf(writer, write),
        contentType: 'application/merge-patch+json',
        body,
        signal,
      })
      return { result: 'ok', object, wrote: true, conflicted: attempt > 1 }
    } catch (error) {
      if (!isConflict(error) || attempt === CONFLICT_TRIES) throw error
      const current = await deps.kube.request<KubeObject>('GET', pathOf(write), { signal })
      const next = write.reapply(current)
      if (next === 'superseded') return { result: 'superseded', object: current }
      if (next === 'done') return { result: 'ok', object: current, wrote: false, conflicted: true }
      body = onVersion(next, current.metadata.resourceVersion ?? '')
    }
  }
}

function queryOf({ fieldManager }: Writer, { isStrict }: Write): Readonly<Record<string, string>> {
  return { fieldManager, ...(isStrict && { fieldValidation: 'Strict' }) }
}

function onVersion(patch: Patch, resourceVersion: string): Patch {
  return { ...patch, metadata: { ...(patch['metadata'] as Patch | undefined), resourceVersion } }
}

function pathOf(target: Target, status = false): string {
  return resourcePath(target.watched, target.namespace, target.name, status ? 'status' : undefined)
}

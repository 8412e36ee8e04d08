// All writes of the engine to Kubernetes: conditional on the observed version, sent in batches, and journaled before
// they wake any subject. The journal is the PostgreSQL database of Pawl; the bridge is the process that watches
// Kubernetes and writes watch events to the journal (docs/concepts/glossary.md).
//
//   W1. Before the first request of a batch, the journal has an unfinished action row for each object, so that the
//       bridge holds the watch events of these objects (docs/concepts/architecture.md "Own writes").
//   W2. Answers are buffered. One transaction journals the buffered answers of a run and finishes their action rows,
//       at the end of the pass or 200 ms after the first answer (write-buffer.ts).
//   W3. A batch repeated after a crash finds its own writes and succeeds: the result of a create is 'ok' if the
//       existing object is ours (`isOurs`), the result of a delete is 'gone' if the object is missing.
//   W4. A failed write does not stop its siblings; each answer has its own result.
//   W5. A run whose job is over writes nothing (actions.ts, A3): its writes are reported as done if the object has the
//       wanted state, otherwise as superseded.

import { groupKindOf, isSameGroupKind, type WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { objectText } from '../journal/write/actions.ts'
import type { AnsweredWrites } from '../journal/write/events.ts'
import type { KubeObject } from './client.ts'
import { resourcePath } from './resource-path.ts'
import { inParallel } from './in-parallel.ts'
import type { Patch } from './merge-patch.ts'
import { type StoredAs, storedAs, isDeletedWithoutFinalizers } from './object-views.ts'
import { isSecret } from './core-kinds.ts'
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

// The API server's default limit of mutating requests is 200 in flight; one batch takes a tenth of it.
export const PARALLEL_WRITES = 20
const CONFLICT_TRIES = 5
// The bridge holds the events of a batch for at most HOLD_MS (actions.ts) from the start of the batch. Within this time
// the requests are sent and their answers are journaled; otherwise the bridge journals the watch events first, and they
// count as foreign. So the size of the next batch is chosen from the duration of the last one, to take about BATCH_MS
// (docs/concepts/architecture.md "How data flows").
const FIRST_BATCH = 20
const SMALLEST_BATCH = 10
const LARGEST_BATCH = 100
const BATCH_MS = 300

/**
 * Sends the writes of one step and passes their answers to the journal.
 *
 * @param signal aborts the requests.
 * @returns one answer per write, in their order. Errors of the API server, also an unreachable one, are answers with
 * the result 'failed'.
 * @throws when the action rows cannot be stored in the journal; the abort error of `signal`; a plain Error (a bug).
 */
export async function writeAll<Watched extends WatchedKind>(
  deps: Deps,
  writer: Writer,
  writes: readonly Write<Watched>[],
  signal?: AbortSignal,
): Promise<WriteAnswer<Watched>[]> {
  const answers: WriteAnswer<Watched>[] = []
  let size = FIRST_BATCH
  while (answers.length < writes.length) {
    const batch = writes.slice(answers.length, answers.length + size)
    const begunAt = deps.now().getTime()
    const answered = await writeBatch(deps, writer, batch, signal)
    answers.push(...batch.map((write, index) => asKind(write, answered[index])))
    size = nextBatch(batch.length, deps.now().getTime() - begunAt)
  }
  return answers
}

/** The next batch size, from the time of the last batch. */
function nextBatch(writes: number, tookMs: number): number {
  const fitting = Math.floor((writes * BATCH_MS) / Math.max(tookMs, 1))
  return Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH, fitting))
}

/**
 * The answer, typed by the written kind. The API server may answer a DELETE with a Status instead of the object; then
 * the object is deleted, and the result is 'gone'.
 */
function asKind<Watched extends WatchedKind>(
  write: Write<Watched>,
  answer: WriteAnswer | undefined,
): WriteAnswer<Watched> {
  if (answer === undefined) throw new Error(`no answer to ${write.verb} ${write.watched.kind} ${write.name}`)
  if (!('object' in answer)) return answer
  return isWholeObject(answer.object)
    ? { ...answer, object: storedAs(write.watched, answer.object) }
    : { result: 'gone' }
}

async function writeBatch(
  deps: Deps,
  writer: Writer,
  writes: readonly Write[],
  signal: AbortSignal | undefined,
): Promise<WriteAnswer[]> {
  const rows = writes.map((write) => ({
    workflow_id: writer.workflowID,
    run_id: writer.runID,
    pass: writer.pass,
    step: writer.step,
    object: objectText(write.watched, write.namespace, write.name),
    verb: write.verb,
    field_manager: writer.fieldManager,
    started_at: deps.now(),
  }))
  const begin = await deps.journal.begin(rows)
  if (begin === 'over') return await readInstead(deps, writer, writes, signal)
  const answers = await inParallel(writes, PARALLEL_WRITES, (write) => sendOne(deps, writer, write, signal))
  answers.forEach((answer, index) => cacheAnswer(deps, writes[index], answer))
  const finished_at = deps.now()
  const finished = rows.map((row, index) => ({ ...row, finished_at, ...resultOf(writes[index], answers[index]) }))
  // Buffers only (W2).
  deps.journal.finish({
    writer: writer.workflowID,
    tree: writer.tree ?? [],
    events: eventsOf(writes, answers),
    finished,
  })
  return answers
}

const SUPERSEDED: Readonly<Record<Write['verb'], string>> = {
  create: 'another object has this name',
  patch: 'the object has changed, and the patch no longer applies',
  patchStatus: 'the object has changed, and the patch no longer applies',
  delete: 'the object has changed since the deletion was decided',
}

function resultOf(
  write: Write | undefined,
  answer: WriteAnswer | undefined,
): { resource_version: number | null; error: { reason: string; message: string } | null } {
  if (answer?.result === 'failed')
    return { resource_version: null, error: { reason: answer.error.reason, message: answer.error.message } }
  if (answer?.result === 'superseded' && write !== undefined)
    return { resource_version: null, error: { reason: 'Superseded', message: SUPERSEDED[write.verb] } }
  const version = answer?.result === 'ok' ? answer.object.metadata.resourceVersion : undefined
  return { resource_version: version === undefined ? null : Number(version), error: null }
}

/**
 * Caches objects of the controllers' kinds, which the run reads again soon. Other objects, which may be Secrets, are
 * not cached.
 */
function cacheAnswer({ objects, subjectKinds }: Deps, write: Write | undefined, answer: WriteAnswer): void {
  if (write === undefined) return
  const kind = groupKindOf(write.watched)
  if (isSecret(write.watched)) return
  if (!Object.values(subjectKinds).some((one) => isSameGroupKind(one, kind))) return
  if (answer.result !== 'ok' && answer.result !== 'superseded') return
  const { uid } = answer.object.metadata
  if (uid === undefined || !isWholeObject(answer.object)) return
  if (isDeletedWithoutFinalizers(answer.object)) objects.forget(uid)
  else objects.put(answer.object)
}

function eventsOf(writes: readonly Write[], answers: readonly WriteAnswer[]): AnsweredWrites['events'] {
  return answers.flatMap((answer, index) => {
    const write = writes[index]
    if (write === undefined || answer.result !== 'ok' || !isWholeObject(answer.object)) return []
    const type = write.verb === 'create' && answer.wrote ? ('ADDED' as const) : ('MODIFIED' as const)
    return [
      {
        conflicted: answer.conflicted || !answer.wrote,
        event: { watched: write.watched, type, object: answer.object },
      },
    ]
  })
}

// The answer to a DELETE that removed its object immediately may be a Status.
const isWholeObject = (object: KubeObject): boolean => object.metadata.uid !== undefined && object.kind !== 'Status'

async function sendOne(
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

/**
 * Reads the objects instead of writing them (W5). Nothing is journaled: other runs have journaled their writes, and the
 * bridge receives all other changes.
 */
async function readInstead(
  { kube, log }: Deps,
  { workflowID, pass, step }: Writer,
  writes: readonly Write[],
  signal: AbortSignal | undefined,
): Promise<WriteAnswer[]> {
  const looks = await inParallel(writes, PARALLEL_WRITES, (write) => readOne(kube, write, signal))
  const withheld = looks.filter(({ isWithheld }) => isWithheld).length
  const where = { workflowID, pass, step }
  // Without a withheld write this is expected: Temporal repeats a workflow task that timed out, or whose result it
  // rejected because of a new signal, and the task calls its local activities again.
  if (withheld === 0) log.info(where, 'a step of an ended job has nothing to write')
  else log.warn({ ...where, withheld }, 'a step of an ended job came too late; its writes are dropped')
  return looks.map(({ answer }) => answer)
}

interface ReadInstead {
  readonly answer: WriteAnswer
  /** The write would have changed the object; it was not sent only because the run's job is over. */
  readonly isWithheld: boolean
}

async function readOne(kube: Deps['kube'], write: Write, signal: AbortSignal | undefined): Promise<ReadInstead> {
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

// All writes of the engine to Kubernetes: sent in batches, and journaled before they wake any subject
// (one write: write-request.ts). The journal is the PostgreSQL database of Pawl; the bridge is the process that watches
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
import { inParallel } from './in-parallel.ts'
import { storedAs, isDeletedWithoutFinalizers } from './object-views.ts'
import { isSecret } from './core-kinds.ts'
import { readOne, sendOne, type Write, type WriteAnswer, type Writer } from './write-request.ts'

export type { Write, WriteAnswer, Writer } from './write-request.ts'

// The API server's default limit of mutating requests is 200 in flight; one batch takes a tenth of it.
export const PARALLEL_WRITES = 20
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
  answers.forEach((answer, index) => {
    const write = writes[index]
    if (write === undefined) return
    cacheAnswer(deps, write, answer)
    deps.runMetrics?.wrote(writer.workflowID, write.verb, answer)
  })
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
function cacheAnswer({ objects, subjectKinds }: Deps, write: Write, answer: WriteAnswer): void {
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

// Commits the watch events of one kind to the journal (PostgreSQL) while the reflector (which lists and watches the
// kind) continues to read. The events that arrive during a commit are the next batch. There is no fixed delay for a
// batch, but events that look like own writes of runs wait up to `holdPollMs` for others, and events on held objects
// wait longer.
//
// An own write is a write of a Pawl run. Before the request, the run stores a row with the object's name in the
// journal. It journals the answers (the new resourceVersions) of a pass, which is one reconcile, together when the pass
// ends, at the latest after 200 ms. Until then the object is *held*: its events wait, for at most `holdMs` after the
// start of the write. Then the version shows whether an event is a duplicate of the own write. More:
// docs/concepts/architecture.md, "Own writes".
//
//   F1. An event leaves the queue only when the journal has it: after its commit, or because the journal already had
//       its version (F3). While the journal fails, the same events are retried. An event whose data PostgreSQL refuses
//       is committed without the data (refused-events.ts).
//   F2. Only `LeaseLost` and the end of the lease term stop the feed.
//   F3. Versions that the journal already has, such as own writes of runs, get no row. For a batch of such versions
//       only the checkpoint moves, and at most once per SAVE_MS: a watch that resumes from an older checkpoint receives
//       the same versions again.
//
// The checkpoint is the resourceVersion up to which the journal has the events of the kind.

import { checkReceivedEvents, versionKey } from '../../activities/journal/read/received-events.ts'
import { type Checkpoint, LeaseLost, writeCheckpoint } from '../../activities/journal/write/checkpoints.ts'
import { journalSkippingRefused } from '../../activities/journal/write/refused-events.ts'
import { createBackoff, pause } from '../server/backoff.ts'
import {
  isUrgent,
  objectKey,
  type PendingItem,
  type PendingQueue,
  selectReady,
  versionOf,
  writersOfUnansweredWrites,
} from './pending.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { refusalPolicy, labelOf, type Position, type LeaseTerm } from './lease-term.ts'

const SAVE_MS = 1000

/** Runs until the term's signal is aborted. @throws LeaseLost, or the signal's reason. */
export async function feedJournal(term: LeaseTerm, queue: PendingQueue): Promise<never> {
  const { settings, random, log, watched, health } = term
  const backoff = createBackoff(settings.backoffMs, random)
  const progress: Progress = { unsaved: undefined, savedAt: 0 }
  for (;;) {
    term.signal.throwIfAborted()
    try {
      if (queue.items.length === 0) {
        await waitForEvents(term, queue, progress)
        continue
      }
      await waitForBatch(term, queue)
      const waiting = await journalOnce(term, queue, progress)
      backoff.reset()
      health.journalFailing = false
      if (waiting !== undefined) await waitForHeldObjects(waiting, term, queue)
    } catch (error) {
      term.signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      const delayMs = backoff.next()
      health.journalFailing = true
      // For example a lost connection. Refused data does not lead here (refused-events.ts).
      log.warn(
        { kind: labelOf(watched), error: String(error), delayMs, pending: queue.items.length },
        'batch of events is not journaled; the bridge retries it',
      )
      await pause(delayMs, term.signal)
    }
  }
}

/**
 * Delays the batch while all of its events look like own writes of runs, to collect several of them in one batch. The
 * delay is at most `holdPollMs` after the arrival of the first event.
 */
async function waitForBatch({ settings, signal }: LeaseTerm, queue: PendingQueue): Promise<void> {
  const leftMs = (queue.items[0]?.at ?? 0) + settings.holdPollMs - Date.now()
  let examined = 0
  const isBatchReady = () => {
    const newItems = queue.items.slice(examined)
    examined = queue.items.length
    return examined >= settings.batchLimit || isUrgent(newItems, Date.now())
  }
  if (leftMs > 0) await waitUntil(leftMs, isBatchReady, queue, signal)
}

/**
 * Waits after a batch in which some events stayed in the queue because their objects are held. A run writes several
 * objects of a kind in a row and journals the answers together, so the held objects are queried again only after
 * `holdPollMs`. A new event on another object that does not look like an own write (`isUrgent`) ends the wait.
 */
async function waitForHeldObjects(
  { held, examined: examinedBefore }: HeldBack,
  { settings, signal }: LeaseTerm,
  queue: PendingQueue,
): Promise<void> {
  const isOther = ({ event }: PendingItem) => event !== undefined && !held.has(objectKey(event))
  let examined = examinedBefore
  const isNew = () => {
    const newItems = queue.items.slice(examined, settings.batchLimit).filter(isOther)
    examined = queue.items.length
    return isUrgent(newItems, Date.now())
  }
  await waitUntil(settings.holdPollMs, isNew, queue, signal)
}

/** Returns after the time, or when the queue changes and the condition holds. @throws the signal's reason. */
async function waitUntil(
  ms: number,
  condition: () => boolean,
  queue: PendingQueue,
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController()
  const either = AbortSignal.any([signal, ending.signal])
  const timeout = pause(ms, either).then(() => true)
  try {
    while (!condition()) if (await Promise.race([timeout, queue.waitForChange(either).then(() => false)])) return
  } finally {
    ending.abort()
  }
}

interface Progress {
  /** The version up to which the journal is complete, if the stored checkpoint is older (F3); else undefined. */
  unsaved: Pick<Position, 'checkpoint' | 'epoch'> | undefined
  /** The time of the last checkpoint, in milliseconds. */
  savedAt: number
}

/** Waits for an event; saves a pending checkpoint meanwhile. */
async function waitForEvents(term: LeaseTerm, queue: PendingQueue, progress: Progress): Promise<void> {
  if (progress.unsaved === undefined) {
    await queue.waitForChange(term.signal)
    return
  }
  await waitUntil(SAVE_MS, () => queue.items.length > 0, queue, term.signal)
  if (queue.items.length === 0) await saveCheckpoint(term, progress)
}

async function saveCheckpoint(term: LeaseTerm, progress: Progress): Promise<void> {
  const { db, cluster, journal, position } = term
  const { unsaved } = progress
  // False if a relist has started a new epoch meanwhile: it wrote its own checkpoint.
  const isCurrent = unsaved?.epoch === position.epoch && unsaved.checkpoint === position.checkpoint
  if (isCurrent) await writeCheckpoint(db, cluster, checkpointOf(term, unsaved.checkpoint), journal.now())
  progress.unsaved = undefined
  progress.savedAt = Date.now()
}

/** The checkpoint to store. `epoch` counts the relists; `timeline` is PostgreSQL's timeline (lease-term.ts). */
function checkpointOf({ watched, position, owner }: LeaseTerm, resourceVersion: number | undefined): Checkpoint {
  const { epoch, timeline } = position
  return { ...groupKindOf(watched), resourceVersion, epoch, leaseOwner: owner, timeline }
}

/** Why items stay in the queue. */
interface HeldBack {
  /** The held objects, by `objectKey`. */
  readonly held: ReadonlySet<string>
  /** The number of items at the head of the queue that this batch has examined. */
  readonly examined: number
}

/**
 * Commits the first items of the queue, except events on held objects, and removes the committed items from the queue.
 *
 * @returns undefined if no item stays in the queue because of a held object.
 */
async function journalOnce(term: LeaseTerm, queue: PendingQueue, progress: Progress): Promise<HeldBack | undefined> {
  const { db, journal, settings, cluster, watched, position } = term
  const items = queue.items.slice(0, settings.batchLimit)
  // An item without an event is a bookmark.
  const arrived = items.flatMap(({ event }) => event ?? [])
  const objects = [...new Set(arrived.map(objectKey))]
  const asked = { cluster, ...groupKindOf(watched), objects, versions: arrived.map(versionOf) }
  // held: objects with a write that began less than holdMs ago and has no journaled answer. unanswered: older such
  // writes, usually of a crashed process. known: versions that the journal already has.
  const { held, unanswered, known } = await checkReceivedEvents(
    db,
    asked,
    new Date(journal.now().getTime() - settings.holdMs),
  )
  const ready = selectReady(items, held, settings.batchLimit)
  const { events, checkpoint = position.checkpoint, waiting } = ready
  // All items wait: the queue stays unchanged.
  if (events.length === 0 && waiting.length > 0 && checkpoint === position.checkpoint)
    return { held, examined: items.length }

  const news = events.filter((event) => !known.has(versionKey(versionOf(event))))
  if (news.length > 0) {
    const possibleWriters = writersOfUnansweredWrites(items, unanswered, settings.holdMs)
    await journalSkippingRefused(
      db,
      { cluster, source: 'watch', events: news, possibleWriters, checkpoint: checkpointOf(term, checkpoint) },
      journal,
      refusalPolicy(term),
    )
    Object.assign(progress, { unsaved: undefined, savedAt: Date.now() })
  } else if (checkpoint !== position.checkpoint) progress.unsaved = { checkpoint, epoch: position.epoch }
  position.checkpoint = checkpoint
  if (progress.unsaved !== undefined && Date.now() >= progress.savedAt + SAVE_MS) await saveCheckpoint(term, progress)
  queue.replaceFirst(items.length, waiting, Date.now())
  // The waiting items are now the head of the queue.
  return waiting.length > 0 ? { held, examined: waiting.length } : undefined
}

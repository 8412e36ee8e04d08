// Commits the events of one reflector to the journal while the reflector continues to read. There are no fixed time windows: the events that arrive during a
// commit are the next batch.
//
//   F1. An event leaves the queue only after its commit. While the journal is away, the same events are retried.
//   F2. Only `LeaseLost` and the end of the lease term stop the feed.
//   F3. Versions that the journal already has, such as the writes of runs, get no row. For a batch of such versions only the checkpoint moves, and at most
//       once per SAVE_MS: a watch that resumes from an older checkpoint receives the same versions again.

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
      log.warn(
        { kind: labelOf(watched), error: String(error), delayMs, pending: queue.items.length },
        'journal refused a batch',
      )
      await pause(delayMs, term.signal)
    }
  }
}

/** Delays events that look like own writes of runs, so that one batch has several such events. The delay is at most `holdPollMs`. */
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
 * A run writes several objects of a kind in a row and holds them until its pass ends. Events on held objects wait with them; events on other objects do not.
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
  /** The version up to which the journal is complete, if the stored checkpoint is older (F3). */
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
  // A list started a new epoch meanwhile and wrote its own checkpoint.
  const isCurrent = unsaved?.epoch === position.epoch && unsaved.checkpoint === position.checkpoint
  if (isCurrent) await writeCheckpoint(db, cluster, checkpointOf(term, unsaved.checkpoint), journal.now())
  progress.unsaved = undefined
  progress.savedAt = Date.now()
}

function checkpointOf({ watched, position, owner }: LeaseTerm, resourceVersion: number | undefined): Checkpoint {
  const { epoch, timeline } = position
  return { ...groupKindOf(watched), resourceVersion, epoch, leaseOwner: owner, timeline }
}

interface HeldBack {
  readonly held: ReadonlySet<string>
  /** The number of examined items at the head of the queue. */
  readonly examined: number
}

/** @returns undefined if no item is held back. */
async function journalOnce(term: LeaseTerm, queue: PendingQueue, progress: Progress): Promise<HeldBack | undefined> {
  const { db, journal, settings, cluster, watched, position } = term
  const items = queue.items.slice(0, settings.batchLimit)
  const arrived = items.flatMap(({ event }) => event ?? [])
  const objects = [...new Set(arrived.map(objectKey))]
  const asked = { cluster, ...groupKindOf(watched), objects, versions: arrived.map(versionOf) }
  const { held, unanswered, known } = await checkReceivedEvents(
    db,
    asked,
    new Date(journal.now().getTime() - settings.holdMs),
  )
  const ready = selectReady(items, held, settings.batchLimit)
  const { events, checkpoint = position.checkpoint, waiting } = ready
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
  return waiting.length > 0 ? { held, examined: waiting.length } : undefined
}

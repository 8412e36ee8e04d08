// Journals what one reflector reads, while it reads on. No fixed windows: what came during a commit is the next batch.
//
//   F1. Nothing leaves the queue before it is committed. While the journal is away the same events are tried again.
//   F2. Only `LeaseLost` and the end of the term stop the feed.
//   F3. What the journal knows already, such as what runs have written, gets no row of its own. Where a batch has nothing else, only the checkpoint
//       moves on, and that now and then: a watch that resumes before it brings the same again.

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
  writersOf,
} from './pending.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { carefully, labelOf, type Position, type Term } from './lease-term.ts'

const SAVE_MS = 1000

/** Runs until the term's signal. @throws LeaseLost, or the signal's reason. */
export async function feedJournal(term: Term, queue: PendingQueue): Promise<never> {
  const { settings, random, log, watched, health } = term
  const backoff = createBackoff(settings.backoffMs, random)
  const progress: Progress = { unsaved: undefined, savedAt: 0 }
  for (;;) {
    term.signal.throwIfAborted()
    try {
      if (queue.items.length === 0) {
        await rest(term, queue, progress)
        continue
      }
      await untilWorthIt(term, queue)
      const waiting = await journalOnce(term, queue, progress)
      backoff.reset()
      health.journalFailing = false
      if (waiting !== undefined) await untilLooked(waiting, term, queue)
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

/** What looks like a run's own writes waits for more of the kind (echo.ts), for as long as held events do. */
async function untilWorthIt({ settings, signal }: Term, queue: PendingQueue): Promise<void> {
  const leftMs = (queue.items[0]?.at ?? 0) + settings.holdPollMs - Date.now()
  let judged = 0
  const isWorthIt = () => {
    const fresh = queue.items.slice(judged)
    judged = queue.items.length
    return judged >= settings.batchLimit || isUrgent(fresh, Date.now())
  }
  if (leftMs > 0) await untilEither(leftMs, isWorthIt, queue, signal)
}

/**
 * A run writes several objects of a kind in a row, and holds them as long as its pass lasts. What comes on these meanwhile waits with them; what
 * comes on others does not.
 */
async function untilLooked({ held, looked }: Waiting, { settings, signal }: Term, queue: PendingQueue): Promise<void> {
  const isOther = ({ event }: PendingItem) => event !== undefined && !held.has(objectKey(event))
  let judged = looked
  const isNew = () => {
    const fresh = queue.items.slice(judged, settings.batchLimit).filter(isOther)
    judged = queue.items.length
    return isUrgent(fresh, Date.now())
  }
  await untilEither(settings.holdPollMs, isNew, queue, signal)
}

/** Until the time is over, or the queue has changed and is as wanted. @throws the signal's reason. */
async function untilEither(
  ms: number,
  isWanted: () => boolean,
  queue: PendingQueue,
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController()
  const either = AbortSignal.any([signal, ending.signal])
  const over = pause(ms, either).then(() => true)
  try {
    while (!isWanted()) if (await Promise.race([over, queue.change(either).then(() => false)])) return
  } finally {
    ending.abort()
  }
}

interface Progress {
  /** How far the journal knows everything, where its checkpoint does not say so yet (F3). */
  unsaved: Pick<Position, 'journaled' | 'epoch'> | undefined
  /** When the checkpoint was written, in milliseconds. */
  savedAt: number
}

/** Until something comes. */
async function rest(term: Term, queue: PendingQueue, progress: Progress): Promise<void> {
  if (progress.unsaved === undefined) {
    await queue.change(term.signal)
    return
  }
  await untilEither(SAVE_MS, () => queue.items.length > 0, queue, term.signal)
  if (queue.items.length === 0) await save(term, progress)
}

async function save(term: Term, progress: Progress): Promise<void> {
  const { db, cluster, journal, position } = term
  const { unsaved } = progress
  // A list has begun an epoch since, and has written its own.
  const isCurrent = unsaved?.epoch === position.epoch && unsaved.journaled === position.journaled
  if (isCurrent) await writeCheckpoint(db, cluster, checkpointOf(term, unsaved.journaled), journal.now())
  progress.unsaved = undefined
  progress.savedAt = Date.now()
}

function checkpointOf({ watched, position, owner }: Term, resourceVersion: number | undefined): Checkpoint {
  const { epoch, timeline } = position
  return { ...groupKindOf(watched), resourceVersion, epoch, leaseOwner: owner, timeline }
}

interface Waiting {
  readonly held: ReadonlySet<string>
  /** So many items at the head of the queue were looked at. */
  readonly looked: number
}

/** @returns undefined when nothing waits. */
async function journalOnce(term: Term, queue: PendingQueue, progress: Progress): Promise<Waiting | undefined> {
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
  const { events, checkpoint = position.journaled, rest: waiting } = ready
  if (events.length === 0 && waiting.length > 0 && checkpoint === position.journaled)
    return { held, looked: items.length }

  const news = events.filter((event) => !known.has(versionKey(versionOf(event))))
  if (news.length > 0) {
    const writers = writersOf(items, unanswered, settings.holdMs)
    const batch = {
      cluster,
      source: 'watch',
      events: news,
      writers,
      checkpoint: checkpointOf(term, checkpoint),
    } as const
    await journalSkippingRefused(db, batch, journal, carefully(term))
    Object.assign(progress, { unsaved: undefined, savedAt: Date.now() })
  } else if (checkpoint !== position.journaled) progress.unsaved = { journaled: checkpoint, epoch: position.epoch }
  position.journaled = checkpoint
  if (progress.unsaved !== undefined && Date.now() >= progress.savedAt + SAVE_MS) await save(term, progress)
  queue.replaceFirst(items.length, waiting, Date.now())
  return waiting.length > 0 ? { held, looked: waiting.length } : undefined
}

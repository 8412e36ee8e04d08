// Journals what one reflector reads, while it reads on. No fixed windows: what came during a commit is the next batch.
//
//   F1. Nothing leaves the queue before it is committed. While the journal is away the same events are tried again.
//   F2. Only `LeaseLost` and the end of the term stop the feed.

import { heldObjects } from '../../activities/journal/write/actions.ts'
import { LeaseLost } from '../../activities/journal/write/checkpoints.ts'
import { journalCarefully } from '../../activities/journal/write/refused.ts'
import { createBackoff, pause } from '../server/backoff.ts'
import { objectKey, type PendingQueue, selectReady } from './pending.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { carefully, labelOf, type Term } from './term.ts'

/** Runs until the term's signal. @throws LeaseLost, or the signal's reason. */
export async function feedJournal(term: Term, queue: PendingQueue): Promise<never> {
  const { settings, random, log, watched, health } = term
  const backoff = createBackoff(settings.backoffMs, random)
  for (;;) {
    while (queue.items.length === 0) await queue.change(term.signal)
    term.signal.throwIfAborted()
    try {
      const progress = await journalOnce(term, queue)
      backoff.reset()
      health.journalFailing = false
      if (progress === 'held') await pause(settings.holdPollMs, term.signal)
    } catch (error) {
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

async function journalOnce(term: Term, queue: PendingQueue): Promise<'journaled' | 'held'> {
  const { db, journal, settings, cluster, watched, owner, position } = term
  const items = queue.items.slice(0, settings.batchLimit)
  const names = items.flatMap(({ event }) => (event === undefined ? [] : [objectKey(event)]))
  const held = await heldObjects(db, [...new Set(names)], journal.now(), settings.holdMs)
  const { events, checkpoint = position.journaled, rest } = selectReady(items, held, settings.batchLimit)
  if (events.length === 0 && rest.length > 0 && checkpoint === position.journaled) return 'held'

  await journalCarefully(
    db,
    {
      ...{ cluster, source: 'watch', events },
      checkpoint: {
        ...groupKindOf(watched),
        ...{ resourceVersion: checkpoint, epoch: position.epoch, leaseOwner: owner },
      },
    },
    journal,
    carefully(term),
  )
  position.journaled = checkpoint
  queue.replaceFirst(items.length, rest, Date.now())
  return rest.length > 0 ? 'held' : 'journaled'
}

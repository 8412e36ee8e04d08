// The last resort for an event that PostgreSQL refuses for what is in it: the rest of its batch is journaled, the event is named and left out.
// Without it the same batch would be tried for ever, and nothing of its kind would be seen any more.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import { insertEvents } from './event-rows.ts'
import { type EventBatch, journalEvents, type JournalDeps } from './events.ts'
import { type BatchEvent, reduceEvent } from './incoming-events.ts'

export interface RefusedEventOptions {
  /** The version of the checkpoint that covers what comes before the batch. */
  readonly journaled: number | undefined
  readonly onRefused: (event: BatchEvent, error: unknown) => void
}

/** As `journalEvents`, yet a batch that is refused for its data is journaled event by event, and what is refused even then is left out. */
export async function journalSkippingRefused(
  db: Kysely<Database>,
  batch: EventBatch,
  deps: JournalDeps,
  { journaled, onRefused }: RefusedEventOptions,
): Promise<void> {
  try {
    await journalEvents(db, batch, deps)
    return
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  // The lease is checked in every transaction; the checkpoint moves last.
  const lease = batch.checkpoint && { checkpoint: { ...batch.checkpoint, resourceVersion: journaled } }
  for (const event of batch.events) {
    try {
      await journalEvents(db, { ...batch, ...lease, events: [event] }, deps)
    } catch (error) {
      if (!isRefusal(error)) throw error
      onRefused(event, error)
      await recordRefused(db, batch, event, deps)
    }
  }
  await journalEvents(db, { ...batch, events: [] }, deps)
}

/** Every event ends as a row (events.ts, E1), even this one; without its projection. */
async function recordRefused(
  db: Kysely<Database>,
  batch: EventBatch,
  event: BatchEvent,
  deps: JournalDeps,
): Promise<void> {
  const { group, kind, uid, namespace, name, type, resourceVersion } = reduceEvent(event, batch.source, deps.contentKey)
  const at = { api_group: group, kind, uid, namespace, name: name.slice(0, LONGEST_NAME) }
  const row = { ...at, resource_version: resourceVersion, type }
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ seq: number }>`select nextval('watch_event_seq') as seq`.execute(trx)
    const reason = 'could not be journaled'
    const rest = { seq: rows[0]?.seq ?? 0, projection: {}, outcome: 'ignored', reason } as const
    const origin = { source: batch.source, writer: batch.writer ?? batch.possibleWriters?.get(event) ?? null }
    await insertEvents(trx, batch.cluster, [{ ...row, ...rest, ...origin }], deps.now())
  })
}

/** Source: Kubernetes, DNS subdomain names. */
const LONGEST_NAME = 253

/** SQLSTATE classes 22 (data exception) and 54 (program limit exceeded): no later try can do better. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:22|54)/.test(String(error.code))
}

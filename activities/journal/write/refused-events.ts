// Handles events whose data PostgreSQL refuses: the other events of the batch are journaled, the refused event is
// reported and stored without its projection. Otherwise the same batch would be retried for ever and block its kind.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import { insertEvents } from './event-rows.ts'
import { type EventBatch, journalEvents, type JournalDeps } from './events.ts'
import { type BatchEvent, reduceEvent } from './incoming-events.ts'

export interface RefusedEventOptions {
  /** Version of the checkpoint before the batch. */
  readonly journaled: number | undefined
  readonly onRefused: (event: BatchEvent, error: unknown) => void
}

/** Like `journalEvents`, but journals a batch with refused data event by event and skips the refused events. */
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
  // Every transaction checks the lease; the checkpoint moves last.
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

/** Stores a refused event without its projection, because every event has a row (events.ts, E1). */
async function recordRefused(
  db: Kysely<Database>,
  batch: EventBatch,
  event: BatchEvent,
  deps: JournalDeps,
): Promise<void> {
  const { group, kind, uid, namespace, name, type, resourceVersion } = reduceEvent(event, batch.source, deps)
  const at = { api_group: group, kind, uid, namespace, name: name.slice(0, LONGEST_NAME) }
  const row = { ...at, resource_version: resourceVersion, type }
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ seq: number }>`select nextval('watch_event_seq') as seq`.execute(trx)
    const reason = 'could not be journaled'
    const rest = { seq: rows[0]?.seq ?? 0, projection: {}, outcome: 'ignored', reason } as const
    const origin = {
      source: batch.source,
      writer: batch.writer ?? batch.possibleWriters?.get(event) ?? null,
      manager: null,
    }
    await insertEvents(trx, batch.cluster, [{ ...row, ...rest, ...origin }], deps.now())
  })
}

/** Source: Kubernetes, DNS subdomain names. */
const LONGEST_NAME = 253

/** SQLSTATE classes 22 (data exception) and 54 (program limit exceeded): retries cannot succeed. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:22|54)/.test(String(error.code))
}

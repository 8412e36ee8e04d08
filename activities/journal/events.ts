// Journals a batch: events, objects, checkpoint, wakes and closed jobs in one transaction. The bridge and every write use this one function.
//
//   E1. Every event ends as a wake, as ignored with a reason, or as stale.
//   E2. Nothing is news twice: the row of the object, locked by its uid, decides (classify.ts).
//   E3. Events, what they cause and the checkpoint that covers them are committed together or not at all.

import type { Kysely, Transaction } from 'kysely'
import type { Projection, RoutedEvent, Routing } from '../../workflows/kit/index.ts'
import { type FinishedAction, finishActions } from './actions.ts'
import { type Checkpoint, writeCheckpoint } from './checkpoints.ts'
import { classify, type Known, type Verdict } from './classify.ts'
import type { Database } from './database.ts'
import {
  type BatchOrigin,
  type EventRow,
  insertEvents,
  journaledVersions,
  lockObjects,
  upsertObjects,
} from './event-rows.ts'
import { expandRoutes, type RoutedNews } from './expand.ts'
import { type BatchEvent, type Incoming, readEvent } from './incoming.ts'
import { closeFinishedJobs } from './jobs.ts'
import { mergeWakes, type NewWake, upsertWakes } from './wakes.ts'

export interface EventBatch extends BatchOrigin {
  /** Some of it was written again after a conflict: it counts as foreign to its own run. */
  readonly conflicted?: boolean
  readonly events: readonly BatchEvent[]
  readonly checkpoint?: Checkpoint
  /** Effects that these answers complete; they end in the same transaction, which releases the bridge's hold. */
  readonly finished?: readonly FinishedAction[]
}

export interface JournalDeps {
  readonly route: (event: RoutedEvent) => Routing
  readonly contentKey: Buffer | undefined
  readonly now: () => Date
  /** The kind of a controller's subjects, for routes to dependents. */
  readonly subjectKinds?: Readonly<Record<string, string>>
}

export interface JournaledBatch {
  /** In the order of the batch. */
  readonly events: readonly Pick<EventRow, 'seq' | 'uid' | 'resource_version' | 'outcome' | 'reason'>[]
  readonly wakes: readonly NewWake[]
}

/** @throws LeaseLost when the checkpoint's lease is no longer held; then nothing of the batch is journaled. */
export async function journalEvents(
  db: Kysely<Database>,
  batch: EventBatch,
  deps: JournalDeps,
): Promise<JournaledBatch> {
  const incoming = batch.events.map((event) => readEvent(event, batch.source, deps.contentKey))
  return await db.transaction().execute(async (trx) => await journalIncoming(trx, batch, incoming, deps))
}

async function journalIncoming(
  trx: Transaction<Database>,
  batch: EventBatch,
  incoming: readonly Incoming[],
  deps: JournalDeps,
): Promise<JournaledBatch> {
  const now = deps.now()
  // Before the objects, always in this order: a writer of the same objects never holds the checkpoint.
  if (batch.checkpoint !== undefined) await writeCheckpoint(trx, batch.cluster, batch.checkpoint, now)
  if (incoming.length === 0) {
    await finishActions(trx, batch.finished ?? [])
    return { events: [], wakes: [] }
  }
  const entries = await judge(trx, batch, incoming, now)
  const news = entries.flatMap((entry) => entry.news ?? [])
  const routings = news.map(({ event }) => deps.route(event))
  const routed = news.map(({ state, seq, foreign }, index): RoutedNews => {
    const routing = routings[index]
    return { state, seq, foreign, routes: routing !== undefined && 'routes' in routing ? routing.routes : [] }
  })
  const expansion = { cluster: batch.cluster, writer: batch.writer, subjectKinds: deps.subjectKinds ?? {}, now }
  const wakesOfNews = await expandRoutes(trx, routed, expansion)

  const rows = entries.map(({ row, news: item }): EventRow => {
    if (item === undefined) return row
    const index = news.indexOf(item)
    return { ...row, ...conclude(routings[index], wakesOfNews[index] ?? []) }
  })
  await insertEvents(trx, batch, rows, now)
  const wakes = mergeWakes(wakesOfNews.flat())
  await upsertWakes(trx, wakes, now)
  await closeFinishedJobs(
    trx,
    batch.cluster,
    news.map(({ state }) => state),
    now,
  )
  await finishActions(trx, batch.finished ?? [])
  return { events: rows, wakes }
}

interface News {
  readonly state: Known
  readonly seq: number
  readonly foreign: boolean
  readonly event: RoutedEvent
}

interface Entry {
  readonly row: EventRow
  readonly news: News | undefined
}

interface Judged {
  readonly event: Incoming
  readonly seq: number
  readonly verdict: Verdict
  /** What was known before this event. */
  readonly before: Known | undefined
}

/** Decides about every event, one after the other (E2), and writes the newest state of each object. */
async function judge(
  trx: Transaction<Database>,
  batch: EventBatch,
  incoming: readonly Incoming[],
  now: Date,
): Promise<Entry[]> {
  const uids = [...new Set(incoming.map(({ uid }) => uid))].sort()
  const { seqs, known } = await lockObjects(trx, batch.cluster, uids, incoming.length)
  const states = new Map<string, Known>(known.map((state) => [state.uid, state]))
  const touched = new Map<string, Known & { seq: number }>()
  const judged = incoming.map((told, index): Judged => {
    const seq = seqs[index] ?? 0
    const before = states.get(told.uid)
    const event = batch.source === 'relist' ? asListed(told, before) : told
    const verdict = classify(before, event)
    if (verdict.outcome !== 'stale') {
      states.set(event.uid, verdict.next)
      if (!event.unfollowed) touched.set(event.uid, { ...verdict.next, seq })
    }
    return { event, seq, verdict, before }
  })
  const written = await upsertObjects(trx, batch.cluster, [...touched.values()], now)
  const overtaken = batch.source === 'watch' ? judged.filter(({ verdict }) => isOvertaken(verdict)) : []
  const seen = await journaledVersions(
    trx,
    overtaken.map(({ event }) => event),
  )
  const foreign = batch.writer === undefined || batch.conflicted === true
  return judged.map((item) => entryOf(item, { written, seen, foreign, overtaken, states }))
}

/** A list does not say what happened to an object, only that it is there. */
function asListed(event: Incoming, before: Known | undefined): Incoming {
  if (event.missed) return event
  return { ...event, type: before === undefined || before.deleted ? 'ADDED' : 'MODIFIED' }
}

interface Context {
  readonly written: ReadonlySet<string>
  readonly seen: ReadonlySet<string>
  readonly foreign: boolean
  readonly overtaken: readonly Judged[]
  readonly states: ReadonlyMap<string, Known>
}

function entryOf(item: Judged, { written, seen, foreign, overtaken, states }: Context): Entry {
  const { event, seq, verdict, before } = item
  if (verdict.outcome !== 'stale' && !written.has(event.uid) && !event.unfollowed) {
    return { row: rowOf(item, 'stale', 'journaled meanwhile'), news: undefined }
  }
  switch (verdict.outcome) {
    case 'unchanged':
      return { row: rowOf(item, 'ignored', verdict.reason), news: undefined }
    case 'changed':
      return {
        row: rowOf(item, 'ignored', '', verdict.next.projection),
        news: { state: verdict.next, seq, foreign, event: routedEvent(event.type, verdict.next, before?.projection) },
      }
    case 'stale': {
      const state = states.get(event.uid)
      // Somebody's change that the answer of our own later write overtook: the write's wake may be suppressed, so this one must not be.
      if (state !== undefined && overtaken.includes(item) && !seen.has(`${event.uid} ${event.resourceVersion}`)) {
        const type = state.deleted ? 'DELETED' : 'MODIFIED'
        const news = { state, seq, foreign: true, event: routedEvent(type, state, undefined) }
        return { row: rowOf(item, 'ignored', '', event.projection), news }
      }
      return { row: rowOf(item, 'stale', verdict.reason), news: undefined }
    }
  }
}

function isOvertaken(verdict: Verdict): boolean {
  return verdict.outcome === 'stale' && verdict.overtaken
}

function rowOf(
  { event, seq }: Judged,
  outcome: EventRow['outcome'],
  reason: string,
  projection: Projection = {},
): EventRow {
  const { kind, uid, namespace, name, type, resourceVersion } = event
  return { seq, kind, uid, namespace, name, resource_version: resourceVersion, type, projection, outcome, reason }
}

function routedEvent(type: RoutedEvent['type'], state: Known, previous: Projection | undefined): RoutedEvent {
  const { kind, uid, namespace, name, resourceVersion, projection } = state
  return { kind, uid, namespace, name, resourceVersion, type, projection, previous }
}

function conclude(routing: Routing | undefined, wakes: readonly NewWake[]): Pick<EventRow, 'outcome' | 'reason'> {
  if (wakes.length > 0) return { outcome: 'wake', reason: [...new Set(wakes.map(({ cause }) => cause))].join('; ') }
  const reason = routing !== undefined && 'ignored' in routing ? routing.ignored : 'no subject is concerned'
  return { outcome: 'ignored', reason }
}

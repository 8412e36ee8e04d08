// Journals a batch of events: events, objects, checkpoint, wakes and closed jobs in one transaction. The bridge and all
// writes of runs use this module.
//
//   E1. Every event of a batch gets an outcome: wake, ignored with a reason, or stale.
//   E2. Each change is processed once: the row of the object, locked by its uid, decides (classify.ts).
//   E3. Events, their effects and the checkpoint that covers them are committed together or not at all.

import type { Kysely, Transaction } from 'kysely'
import {
  type Projection,
  type RoutedEvent,
  type Routing,
  type ObjectIndexKeys,
  indexKeysOf,
} from '../../../workflows/kit/index.ts'
import { type FinishedAction, finishActions, type NewAction } from './actions.ts'
import { type Checkpoint, writeCheckpoint } from './checkpoints.ts'
import { managerOf } from '../../kube/managed-fields.ts'
import { classify, type ObjectState, type Classification, isStatusChange } from './classify.ts'
import type { Database } from '../database.ts'
import {
  type EventRow,
  type EventSource,
  insertEvents,
  journaledVersions,
  lockObjects,
  objectKey,
  upsertObjects,
} from './event-rows.ts'
import { expandRoutes, type RoutedChange, type WriterRun } from './expand-routes.ts'
import { type BatchEvent, type IncomingEvent, reduceEvent } from './incoming-events.ts'
import { closeEndedJobs, type EndedJob, endedJobs, endSubscriptionsOf } from './close-runs.ts'
import type { SubjectRules } from './jobs.ts'
import { mergeWakes, type NewWake, upsertWakes } from './wakes.ts'

export interface EventBatch {
  readonly cluster: string
  readonly source: EventSource
  /** Workflow ID of the run whose writes these events answer. */
  readonly writer?: string | undefined
  /**
   * Per event: the run that probably made the write but never received the answer. It is stored in the event's row and
   * has no other effect.
   */
  readonly possibleWriters?: ReadonlyMap<BatchEvent, string>
  /** A write was repeated after a conflict, so the events count as foreign to their own run. */
  readonly conflicted?: boolean
  readonly events: readonly BatchEvent[]
  readonly checkpoint?: Checkpoint
  /** Actions that these answers complete. They end in the same transaction, which ends the bridge's hold. */
  readonly finished?: readonly FinishedAction[]
}

/** The answers of one batch of writes. */
export interface AnsweredWrites {
  readonly writer: string
  /** uids of the objects whose job the writer runs: writes to them or to their children do not wake them. */
  readonly tree?: readonly string[]
  readonly events: readonly { readonly event: BatchEvent; readonly conflicted: boolean }[]
  readonly finished: readonly FinishedAction[]
}

export interface JournalDeps extends SubjectRules {
  readonly route: (event: RoutedEvent) => Routing
  readonly contentKey: Buffer | undefined
  readonly now: () => Date
}

export interface JournaledBatch {
  /** In the order of the batch. */
  readonly events: readonly Pick<EventRow, 'seq' | 'uid' | 'resource_version' | 'outcome' | 'reason'>[]
  readonly wakes: readonly NewWake[]
}

/**
 * Journals a batch.
 *
 * @throws LeaseLost when the checkpoint's lease is lost; then nothing of the batch is journaled.
 */
export async function journalEvents(
  db: Kysely<Database>,
  batch: EventBatch,
  deps: JournalDeps,
): Promise<JournaledBatch> {
  const { cluster, source, writer, possibleWriters, conflicted = false } = batch
  const events = batch.events.map((event) =>
    sourcedEvent(event, { source, writer, possibleWriter: possibleWriters?.get(event), conflicted }, deps),
  )
  return await db.transaction().execute(async (trx) => {
    // The checkpoint is locked before the objects, always in this order: a writer of the same objects never holds the
    // checkpoint.
    if (batch.checkpoint !== undefined) await writeCheckpoint(trx, cluster, batch.checkpoint, deps.now())
    return await journalSourced(trx, { cluster, events: events, finished: batch.finished ?? [] }, deps)
  })
}

/** A batch of answers, reduced to the data that may enter the journal. */
export interface WriteNews {
  readonly events: readonly SourcedEvent[]
  readonly finished: readonly FinishedAction[]
  /** Writes in flight without a stored intent (write-intents.ts, H2). */
  readonly newActions?: readonly NewAction[]
}

/** Reduces the answers of one batch of writes to the data that may enter the journal. */
export function reduceWrites({ writer, tree, events, finished }: AnsweredWrites, deps: JournalDeps): WriteNews {
  const sourced = events.map(({ event, conflicted }) =>
    sourcedEvent(event, { source: 'write', writer, tree, conflicted }, deps),
  )
  return { events: sourced, finished }
}

/** Journals the answers of several batches, of one or many runs, in one transaction. */
export async function journalWrites(
  db: Kysely<Database>,
  cluster: string,
  batches: readonly WriteNews[],
  deps: JournalDeps,
): Promise<void> {
  const sourced = batches.flatMap(({ events }) => events)
  const finished = batches.flatMap((batch) => batch.finished)
  const newActions = batches.flatMap((batch) => batch.newActions ?? [])
  if (sourced.length === 0) {
    await finishActions(db, finished, newActions)
    return
  }
  await db.transaction().execute(async (trx) => {
    await journalSourced(trx, { cluster, events: sourced, finished, newActions: newActions }, deps)
  })
}

interface Origin {
  readonly source: EventSource
  readonly writer: string | undefined
  /** The run that probably wrote it (`EventBatch.possibleWriters`). */
  readonly possibleWriter?: string | undefined
  readonly tree?: readonly string[] | undefined
  readonly conflicted: boolean
}

/** An event with its source. */
export interface SourcedEvent {
  readonly event: IncomingEvent
  readonly origin: Origin
}

function sourcedEvent(event: BatchEvent, origin: Origin, deps: JournalDeps): SourcedEvent {
  return { event: reduceEvent(event, origin.source, deps), origin }
}

interface SourcedBatch {
  readonly cluster: string
  readonly events: readonly SourcedEvent[]
  readonly finished: readonly FinishedAction[]
  readonly newActions?: readonly NewAction[]
}

async function journalSourced(
  trx: Transaction<Database>,
  { cluster, events, finished, newActions }: SourcedBatch,
  deps: JournalDeps,
): Promise<JournaledBatch> {
  const now = deps.now()
  if (events.length === 0) {
    await finishActions(trx, finished, newActions)
    return { events: [], wakes: [] }
  }
  const entries = await classifyBatch(trx, cluster, events, now)
  const news = entries.flatMap((entry) => entry.news ?? [])
  const indexOf = new Map(news.map((item, index) => [item, index]))
  const ended = endedJobs(news, deps)
  const routings = news.map(({ event }) => deps.route(event))
  const wakesOfNews = await wakesOf(trx, { cluster, news, routings, ended }, deps)

  const rows = entries.map(({ row, news: item }): EventRow => {
    if (item === undefined) return row
    const index = indexOf.get(item) ?? -1
    return { ...row, ...outcomeOf(routings[index], wakesOfNews[index]) }
  })
  await insertEvents(trx, cluster, rows, now)
  const wakes = mergeWakes(wakesOfNews.flatMap(({ wakes }) => wakes))
  await upsertWakes(trx, wakes, now)
  await closeEndedJobs(trx, cluster, ended, now)
  if (Object.values(deps.modes).includes('level')) await endSubscriptionsOf(trx, cluster, deletedUids(news))
  await finishActions(trx, finished, newActions)
  return { events: rows, wakes }
}

interface RoutedBatch {
  readonly cluster: string
  readonly news: readonly ObjectChange[]
  readonly routings: readonly Routing[]
  readonly ended: readonly EndedJob[]
}

interface ChangeWakes {
  readonly wakes: readonly NewWake[]
  /** A wake was left out, because a write never wakes the run that made it while that run is open. */
  readonly own: boolean
}

/**
 * The wakes of each change. Wakes caused by a run's own writes are left out. Exception: if a write ends the run's job,
 * the last state of an object of its tree may request another run of that object.
 */
async function wakesOf(
  trx: Transaction<Database>,
  { cluster, news, routings, ended }: RoutedBatch,
  deps: JournalDeps,
): Promise<ChangeWakes[]> {
  const routed = news.map(({ state, seq, foreign, writer, tree, traits }, index): RoutedChange => {
    const routing = routings[index]
    return {
      state,
      seq,
      foreign,
      writer,
      tree,
      traits,
      routes: routing !== undefined && 'routes' in routing ? routing.routes : [],
    }
  })
  const { subjectKinds, lanes, hosts } = deps
  const expansion = { cluster, subjectKinds, lanes, hosts, now: deps.now() }
  const { wakes, writers } = await expandRoutes(trx, routed, expansion)
  const writerOf = ({ foreign_event, writer }: NewWake) => (foreign_event ? undefined : writers.get(writer ?? ''))
  const last = new Map(news.map(({ state }, index) => [objectKey(state), index]))
  const isLeftOut = (wake: NewWake, item: ObjectChange, index: number) => {
    const run = writerOf(wake)
    if (run?.isOpen !== true) return false
    const asksAgain = wake.may_start && wake.uid === item.state.uid && last.get(objectKey(item.state)) === index
    return !(asksAgain && ended.some((job) => isEndOfRun(job, run)))
  }
  return news.map((item, index) => {
    const all = wakes[index] ?? []
    const others = all.filter((wake) => !isLeftOut(wake, item, index))
    return { wakes: others, own: others.length < all.length }
  })
}

function deletedUids(news: readonly ObjectChange[]): readonly string[] {
  return news.flatMap(({ state: { deleted, uid } }) => (deleted ? [uid] : []))
}

/** Whether the ended job is the job of this run. */
function isEndOfRun({ controller, uid, jobID, deleted: deleted }: EndedJob, run: WriterRun): boolean {
  return run.controller === controller && run.uid === uid && (deleted || run.jobID === jobID)
}

interface ObjectChange {
  readonly state: ObjectState
  readonly seq: number
  readonly foreign: boolean
  readonly writer: string | undefined
  readonly tree: readonly string[]
  readonly event: RoutedEvent
  /** Index keys of the object before and after the change; undefined: unknown. */
  readonly traits: ObjectIndexKeys | undefined
}

interface Entry {
  readonly row: EventRow
  readonly news: ObjectChange | undefined
}

interface ClassifiedEvent {
  readonly event: IncomingEvent
  readonly origin: Origin
  readonly seq: number
  readonly verdict: Classification
  /** The journaled state before this event. */
  readonly before: ObjectState | undefined
}

/** Classifies all events in order (E2) and stores the newest state of each object. */
async function classifyBatch(
  trx: Transaction<Database>,
  cluster: string,
  all: readonly SourcedEvent[],
  now: Date,
): Promise<Entry[]> {
  const uids = [...new Set(all.map(({ event }) => event.uid))].sort()
  const { seqs, known } = await lockObjects(trx, cluster, uids, all.length)
  const states = new Map<string, ObjectState>(known.map((state) => [objectKey(state), state]))
  const touched = new Map<string, ObjectState & { seq: number }>()
  const classified = all.map(({ event: sourced, origin }, index): ClassifiedEvent => {
    const seq = seqs[index] ?? 0
    const key = objectKey(sourced)
    const before = states.get(key)
    const isListed = origin.source === 'relist'
    const event = isListed ? asListed(sourced, before) : sourced
    const verdict = classify(before, event, isListed)
    if (verdict.outcome !== 'stale') {
      states.set(key, verdict.next)
      if (!event.unfollowed) touched.set(key, { ...verdict.next, seq })
    }
    return { event, origin, seq, verdict, before }
  })
  const written = await upsertObjects(trx, cluster, [...touched.values()], now)
  const overtaken = classified.filter(({ verdict, origin }) => origin.source === 'watch' && isOvertaken(verdict))
  const seen = await journaledVersions(
    trx,
    overtaken.map(({ event }) => event),
  )
  return classified.map((item) => entryOf(item, { written, seen, overtaken, states }))
}

/** A list does not contain event types: an unknown object is ADDED, a known one MODIFIED. */
function asListed(event: IncomingEvent, before: ObjectState | undefined): IncomingEvent {
  if (event.missed) return event
  return { ...event, type: before === undefined || before.deleted ? 'ADDED' : 'MODIFIED' }
}

interface ClassifiedBatch {
  readonly written: ReadonlySet<string>
  readonly seen: ReadonlySet<string>
  readonly overtaken: readonly ClassifiedEvent[]
  readonly states: ReadonlyMap<string, ObjectState>
}

function entryOf(item: ClassifiedEvent, { written, seen, overtaken, states }: ClassifiedBatch): Entry {
  const { event, verdict } = item
  if (verdict.outcome !== 'stale' && !written.has(objectKey(event)) && !event.unfollowed) {
    return { row: rowOf(item, 'stale', 'journaled meanwhile'), news: undefined }
  }
  switch (verdict.outcome) {
    case 'unchanged':
      return { row: rowOf(item, 'ignored', verdict.reason), news: undefined }
    case 'changed':
      return { row: rowOf(item, 'ignored', '', verdict.next.projection), news: changeOf(item, verdict.next) }
    case 'stale': {
      const state = states.get(objectKey(event))
      // Another writer's change that the answer of our own later write overtook. The wake of our write may be left out,
      // so this change must cause one.
      if (state !== undefined && overtaken.includes(item) && !seen.has(`${event.uid} ${event.resourceVersion}`)) {
        return { row: rowOf(item, 'ignored', '', event.projection), news: overtakenChange(item, state) }
      }
      return { row: rowOf(item, 'stale', verdict.reason), news: undefined }
    }
  }
}

function changeOf({ event, origin, seq, before }: ClassifiedEvent, state: ObjectState): ObjectChange {
  const { writer, tree = [], conflicted, source } = origin
  const foreign = writer === undefined || conflicted
  const routed = routedEvent(event.type, state, before?.projection)
  // Between the journaled state and a list the object may have had any index keys, and a pass may have read them.
  const traits = source === 'relist' || event.missed ? undefined : indexKeysOf(routed)
  return { state, seq, writer, tree, foreign, event: routed, traits }
}

function overtakenChange({ origin: { writer }, seq }: ClassifiedEvent, state: ObjectState): ObjectChange {
  const type = state.deleted ? 'DELETED' : 'MODIFIED'
  const event = routedEvent(type, state, undefined)
  return { state, seq, writer, tree: [], foreign: true, event, traits: undefined }
}

function isOvertaken(verdict: Classification): boolean {
  return verdict.outcome === 'stale' && verdict.overtaken
}

function rowOf(
  { event, origin, seq, before }: ClassifiedEvent,
  outcome: EventRow['outcome'],
  reason: string,
  projection: Projection = {},
): EventRow {
  const { group, kind, uid, namespace, name, type, resourceVersion } = event
  const { source, possibleWriter = null, writer = possibleWriter } = origin
  const manager = writer === null ? (managerOf(event.managers, isStatusChange(before, event)) ?? null) : null
  const said = { type, projection, outcome, reason, source, writer, manager }
  const at = { api_group: group, kind, uid, namespace, name }
  return { seq, ...at, resource_version: resourceVersion, ...said }
}

function routedEvent(type: RoutedEvent['type'], state: ObjectState, previous: Projection | undefined): RoutedEvent {
  const { group, kind, uid, namespace, name, resourceVersion, projection } = state
  return { group, kind, uid, namespace, name, resourceVersion, type, projection, previous }
}

function outcomeOf(
  routing: Routing | undefined,
  { wakes, own }: ChangeWakes = { wakes: [], own: false },
): Pick<EventRow, 'outcome' | 'reason'> {
  if (wakes.length > 0) return { outcome: 'wake', reason: [...new Set(wakes.map(({ cause }) => cause))].join('; ') }
  if (own) return { outcome: 'ignored', reason: 'a write never wakes the run that made it' }
  const reason = routing !== undefined && 'ignored' in routing ? routing.ignored : 'no subject is concerned'
  return { outcome: 'ignored', reason }
}

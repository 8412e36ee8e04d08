// Subscriptions: objects that jobs wait for or level runs have observed. journalEvents wakes the subscribers of every
// changed object.
//
//   S1. Subscribe first, then read from the API server and not from the journal. A transaction that is journaling an
//       event does not see the new row, and the journal does not show the event before its commit; but that change
//       happened before the read. Later changes find the row.
//   V1. In level mode the subscriptions (job ID '') are exactly the objects of the last pass's queries. They are
//       inserted before the pass reads, and they outlive the run (close-runs.ts, C4).

import { type Kysely, sql } from 'kysely'
import type { GroupKind, LevelDeclaration, LevelSubscription } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { livingObjects } from '../conditions.ts'
import { type NewWake, upsertWakes } from './wakes.ts'

export interface Subscription extends GroupKind {
  readonly controller: string
  readonly uid: string
  readonly job_id: string
  readonly cluster: string
  readonly namespace: string
  readonly name: string
}

/** Adds a subscription if it is missing. The caller reads the object afterwards (S1). */
export async function subscribe(db: Kysely<Database>, subscription: Subscription, now: Date): Promise<void> {
  await subscribeAll(db, [subscription], now)
}

/**
 * Adds several subscriptions in one statement.
 *
 * @returns the names of the new ones. For the others an earlier read followed the subscription, so the journal has that
 * state or a newer one, and later changes cause wakes.
 */
export async function subscribeAll(
  db: Kysely<Database>,
  subscriptions: readonly Subscription[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (subscriptions.length === 0) return new Set()
  const added = await db
    .insertInto('subscription')
    .values(subscriptions.map(({ group, ...one }) => ({ ...one, api_group: group, created_at: now })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('name')
    .execute()
  return new Set(added.map(({ name }) => name))
}

/** The subscriber: one object of one controller. */
export interface LevelSubject {
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/**
 * Replaces the subscriptions of the subject (V1).
 *
 * @returns the new subscriptions.
 */
export async function replaceSubscriptions(
  db: Kysely<Database>,
  { controller, cluster, uid }: LevelSubject,
  watching: readonly LevelSubscription[],
  now: Date,
): Promise<readonly LevelSubscription[]> {
  const { rows } = await sql<LevelSubscription>`
    with wanted as (
      select distinct "group" as api_group, kind, namespace, name, traits from json_to_recordset(${JSON.stringify(watching)}::json) as r(
        "group" text, kind text, namespace text, name text, traits text[])),
    dropped as (
      delete from subscription s where s.controller = ${controller} and s.uid = ${uid} and s.job_id = ''
        and not exists (select from wanted w where w.api_group = s.api_group and w.kind = s.kind and w.namespace = s.namespace and w.name = s.name
          and w.traits = s.traits))
    insert into subscription (controller, uid, job_id, cluster, api_group, kind, namespace, name, traits, created_at)
    select ${controller}, ${uid}, '', ${cluster}, api_group, kind, namespace, name, traits, ${now} from wanted
    order by api_group, kind, namespace, name, traits
    on conflict do nothing returning api_group as "group", kind, namespace, name, traits`.execute(db)
  return rows
}

interface WakeSubjectsInput extends GroupKind, Pick<NewWake, 'cluster' | 'controller' | 'cause'> {
  readonly predicate?: LevelDeclaration['predicate']
}

// Objects are woken in batches, so that no statement reaches its time limit and other statements on wakes do not wait.
const BATCH = 1000

/**
 * Wakes every journaled object of a controller's kind that its predicate accepts, because the controller's code may
 * have changed since its runs ended. If a batch fails, earlier batches stay woken.
 *
 * @returns the number of woken objects.
 */
export async function wakeSubjects(
  db: Kysely<Database>,
  { cluster, controller, cause, predicate, ...of }: WakeSubjectsInput,
  now: Date,
): Promise<number> {
  const wake = { controller, cluster, cause, job_id: '', due: now, foreign_event: true, may_start: true, writer: null }
  let count = 0
  let part = await objectsAfter(db, cluster, of, '')
  for (let last = part.at(-1); last !== undefined; last = part.at(-1)) {
    const accepted = part.filter(({ projection }) => predicate === undefined || predicate(projection))
    await upsertWakes(
      db,
      accepted.map(({ uid, namespace, name, seq }) => ({ uid, namespace, name, seq, ...wake })),
      now,
    )
    count += accepted.length
    part = part.length < BATCH ? [] : await objectsAfter(db, cluster, of, last.uid)
  }
  return count
}

async function objectsAfter(db: Kysely<Database>, cluster: string, of: GroupKind, uid: string) {
  return await livingObjects(db, cluster, of)
    .select(['uid', 'namespace', 'name', 'seq', 'projection'])
    .where('uid', '>', uid)
    .orderBy('uid')
    .limit(BATCH)
    .execute()
}

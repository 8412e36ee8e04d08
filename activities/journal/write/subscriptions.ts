// Waits of jobs for objects that need not exist yet. journalEvents wakes the subscribers of every object that changed.
//
//   S1. Subscribe first, then look, at the API server and not at the journal. An event that is being journaled has not seen the row, and the
//       journal does not show what it tells before its commit; but it happened before the look. What happens later finds the row.

import { type Kysely, sql } from 'kysely'
import type { GroupKind, LevelController, LevelSubscription } from '../../../workflows/kit/index.ts'
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

/** Adds a subscription; one that is there already stays. The caller looks at the object after it (S1). */
export async function subscribe(db: Kysely<Database>, subscription: Subscription, now: Date): Promise<void> {
  await subscribeAll(db, [subscription], now)
}

/**
 * The same of some, in one statement.
 *
 * @returns the names of those that were not there. Of the others an earlier look came after the subscription: what the journal says of them is that,
 * or newer, and what comes next is a wake.
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

// What leads to runs of controllers in level mode. Their rows and subscriptions are keyed by object, not by job (job ID ''), and what they
// subscribe to outlives them (close-runs.ts, C4).
//
//   V1. Subscriptions are exactly what the last pass looked at. Inserting happens before the pass reads, so that nothing falls in between.

/** Whose subscriptions: one controller's, for one object. */
export interface LevelSubject {
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** Makes these the subscriptions of the subject (V1). @returns those that are new. */
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
  readonly predicate?: LevelController['predicate']
}

// A kind may have more objects than one statement can wake in its time, and what follows and claims wakes is not to wait for all of them.
const BATCH = 1000

/**
 * Wakes every known object of a controller's kind that its predicate accepts: the code of the controller may have changed since its runs ended. If one
 * part of the objects fails, the parts before it are woken.
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

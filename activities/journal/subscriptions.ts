// Waits of subjects for objects that need not exist yet. journalEvents wakes the subscribers of every object that changed.
//
//   S1. Between looking at an object and subscribing to it something may have come: inserting looks again and wakes at once.

import { type Kysely, sql } from 'kysely'
import type { Database } from './database.ts'
import { upsertWakes } from './wakes.ts'

export interface Subscription {
  readonly controller: string
  readonly uid: string
  readonly job_id: string
  readonly cluster: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export interface SubscriptionRequest extends Subscription {
  /** The version of the object that the subscriber has seen; 0 when it saw none. */
  readonly seenVersion: number
  /** Name of the subject, for its wake. */
  readonly subjectName: string
}

/** Adds subscriptions; wakes the subscribers whose object is already newer than what they saw (S1). Returns how many were. */
export async function subscribe(
  db: Kysely<Database>,
  requests: readonly SubscriptionRequest[],
  now: Date,
): Promise<number> {
  if (requests.length === 0) return 0
  return await db.transaction().execute(async (trx) => {
    await trx
      .insertInto('subscription')
      .values(
        requests.map(({ controller, uid, job_id, cluster, kind, namespace, name }) => ({
          ...{ controller, uid, job_id, cluster, kind, namespace, name },
          created_at: now,
        })),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    // An event that is being journaled has not seen the row: it holds this lock until it is visible here.
    const { rows } = await sql<{ index: number; seq: number }>`
      select r.index, o.seq
      from json_to_recordset(${JSON.stringify(requests.map((request, index) => ({ ...request, index })))}::json) as r(
        index integer, cluster text, kind text, namespace text, name text, "seenVersion" bigint)
      join object o on o.cluster = r.cluster and o.kind = r.kind and o.namespace = r.namespace and o.name = r.name
      where o.resource_version > r."seenVersion" or o.deleted
      for share of o`.execute(trx)
    const newer = rows.flatMap(({ index, seq }) => {
      const request = requests[index]
      return request === undefined ? [] : [{ request, seq }]
    })
    await upsertWakes(
      trx,
      newer.map(({ request: { controller, uid, cluster, namespace, subjectName, kind, name }, seq }) => ({
        ...{ controller, uid, job_id: '', cluster, namespace, name: subjectName, seq, due: now },
        ...{ foreign_event: true, may_start: false, writer: null, cause: `waits for ${kind} ${name}` },
      })),
      now,
    )
    return newer.length
  })
}

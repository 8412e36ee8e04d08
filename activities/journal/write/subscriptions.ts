// Waits of jobs for objects that need not exist yet. journalEvents wakes the subscribers of every object that changed.
//
//   S1. Subscribe first, then look, at the API server and not at the journal. An event that is being journaled has not seen the row, and the
//       journal does not show what it tells before its commit; but it happened before the look. What happens later finds the row.

import type { Kysely } from 'kysely'
import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

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

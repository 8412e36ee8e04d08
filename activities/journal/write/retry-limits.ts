// How long a retryable failure waits: the larger of the subject's own delay and the turn of its controller's retries in its namespace, so that a
// namespace whose jobs all fail delays nobody else's. Source: seeds/chaos-mesh-controller-rules.txt (5 ms doubling to 1000 s; 10 a second,
// burst 100); those are the defaults, and controllers in level mode may have limits of their own (`settings.retries`).

import { type Kysely, sql, type Transaction } from 'kysely'
import { DEFAULT_RETRIES, LONGEST_REFILL_MS, type RetryLimits } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

type Limits = Required<RetryLimits>

/** The delay before attempt number `attempt` + 1, when `attempt` (1, 2, ...) failed. */
export function retryDelayMs(attempt: number, { firstMs, mostMs }: Limits = DEFAULT_RETRIES): number {
  return Math.min(mostMs, firstMs * 2 ** Math.max(0, attempt - 1))
}

/** Whose retries take turns. */
export interface RetryBucket {
  readonly cluster: string
  readonly controller: string
  /** '' for subjects that are in none. */
  readonly namespace: string
}

/** Takes one token of these retries; returns the delay in milliseconds until it is there. Take it in settle's transaction. */
export async function takeRetryToken(
  trx: Transaction<Database>,
  { cluster, controller, namespace }: RetryBucket,
  now: Date,
  { mostMs, perSecond, burst }: Limits = DEFAULT_RETRIES,
): Promise<number> {
  // What may be owed: nobody waits longer for a turn than a subject may have to wait for its own sake.
  const mostOwed = (mostMs / 1000) * perSecond
  // Tokens may be owed: whoever takes one when none is left waits its turn, in the order of the row's lock.
  const { rows } = await sql<{ tokens: number }>`
    insert into retry_turn as t (cluster, controller, namespace, tokens, updated_at)
    values (${cluster}, ${controller}, ${namespace}, ${burst - 1}, ${now})
    on conflict (cluster, controller, namespace) do update set
      tokens = greatest(${-mostOwed}::double precision, least(${burst}::double precision,
                 t.tokens + greatest(0, extract(epoch from excluded.updated_at - t.updated_at)) * ${perSecond}::double precision) - 1),
      updated_at = greatest(t.updated_at, excluded.updated_at)
    returning tokens`.execute(trx)
  const tokens = rows[0]?.tokens ?? 0
  return tokens >= 0 ? 0 : Math.ceil((-tokens * 1000) / perSecond)
}

/** Forgets turns in which nothing is owed or missing any more, whatever limits their controllers have. @returns how many. */
export async function pruneRetryBuckets(db: Kysely<Database>, now: Date): Promise<number> {
  const full = new Date(now.getTime() - LONGEST_REFILL_MS)
  const { numAffectedRows } = await sql`delete from retry_turn where updated_at < ${full}`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

// Delays of retries: the larger of the subject's exponential back-off and the token bucket of the controller's retries
// in the namespace, so that a namespace in which all jobs fail delays no other namespace. The defaults equal
// controller-runtime's (5 ms doubling to 1000 s; 10 per second, burst 100); controllers in level mode may set their own
// (`settings.retries`).

import { type Kysely, sql, type Transaction } from 'kysely'
import { DEFAULT_RETRIES, LONGEST_REFILL_MS, type RetryLimits } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

type Limits = Required<RetryLimits>

/** The delay after the failure of attempt number `attempt` (1, 2, ...). */
export function retryDelayMs(attempt: number, { firstMs, mostMs }: Limits = DEFAULT_RETRIES): number {
  return Math.min(mostMs, firstMs * 2 ** Math.max(0, attempt - 1))
}

/** Key of a token bucket. */
export interface RetryBucket {
  readonly cluster: string
  readonly controller: string
  /** '' for cluster-scoped subjects. */
  readonly namespace: string
}

/** Takes one token; returns the delay in milliseconds until the token is available. Call it in settle's transaction. */
export async function takeRetryToken(
  trx: Transaction<Database>,
  { cluster, controller, namespace }: RetryBucket,
  now: Date,
  { mostMs, perSecond, burst }: Limits = DEFAULT_RETRIES,
): Promise<number> {
  // The debt is limited, so that no retry waits longer for a token than for its own back-off.
  const mostOwed = (mostMs / 1000) * perSecond
  // The number of tokens may become negative: later callers wait in the order in which they locked the row.
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

/**
 * Deletes buckets that are full under every possible limit.
 *
 * @returns the number of deleted rows.
 */
export async function pruneRetryBuckets(db: Kysely<Database>, now: Date): Promise<number> {
  const full = new Date(now.getTime() - LONGEST_REFILL_MS)
  const { numAffectedRows } = await sql`delete from retry_turn where updated_at < ${full}`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

// How long a retryable failure waits: the larger of the subject's own delay and the turn of its controller's retries in its namespace, so that a
// namespace whose jobs all fail delays nobody else's. Source: seeds/chaos-mesh-controller-rules.txt (5 ms doubling to 1000 s; 10 a second,
// burst 100).

import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'

const FIRST_DELAY_MS = 5
const LONGEST_DELAY_MS = 1_000_000
const TOKENS_PER_SECOND = 10
const BURST = 100
// What may be owed: nobody waits longer for a turn than a subject may have to wait for its own sake.
const MOST_OWED = (LONGEST_DELAY_MS / 1000) * TOKENS_PER_SECOND

/** The delay before attempt number `attempt` + 1, when `attempt` (1, 2, ...) failed. */
export function retryDelayMs(attempt: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, attempt - 1))
}

/** Whose retries take turns. */
export interface RetryTurn {
  readonly cluster: string
  readonly controller: string
  /** '' for subjects that are in none. */
  readonly namespace: string
}

/** Takes one token of these retries; returns the delay in milliseconds until it is there. Take it in settle's transaction. */
export async function takeRetryToken(
  trx: Transaction<Database>,
  { cluster, controller, namespace }: RetryTurn,
  now: Date,
): Promise<number> {
  // Tokens may be owed: whoever takes one when none is left waits its turn, in the order of the row's lock.
  const { rows } = await sql<{ tokens: number }>`
    insert into retry_turn as t (cluster, controller, namespace, tokens, updated_at)
    values (${cluster}, ${controller}, ${namespace}, ${BURST - 1}, ${now})
    on conflict (cluster, controller, namespace) do update set
      tokens = greatest(${-MOST_OWED}::double precision, least(${BURST}::double precision,
                 t.tokens + greatest(0, extract(epoch from excluded.updated_at - t.updated_at)) * ${TOKENS_PER_SECOND}) - 1),
      updated_at = greatest(t.updated_at, excluded.updated_at)
    returning tokens`.execute(trx)
  const tokens = rows[0]?.tokens ?? 0
  return tokens >= 0 ? 0 : Math.ceil((-tokens * 1000) / TOKENS_PER_SECOND)
}

/** Forgets turns in which nothing is owed or missing any more. @returns how many. */
export async function pruneRetryTurns(db: Kysely<Database>, now: Date): Promise<number> {
  const full = new Date(now.getTime() - ((MOST_OWED + BURST) * 1000) / TOKENS_PER_SECOND)
  const { numAffectedRows } = await sql`delete from retry_turn where updated_at < ${full}`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

// How long a retryable failure waits: the larger of the subject's own delay and the overall budget of retries.
// Source: seeds/chaos-mesh-controller-rules.txt (5 ms doubling to 1000 s; 10 a second, burst 100).

import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'

const FIRST_DELAY_MS = 5
const LONGEST_DELAY_MS = 1_000_000
const TOKENS_PER_SECOND = 10
const BURST = 100

/** The delay before attempt number `attempt` + 1, when `attempt` (1, 2, ...) failed. */
export function retryDelayMs(attempt: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, attempt - 1))
}

/** Takes one token of the overall budget; returns the delay in milliseconds until it is there. Take it in settle's transaction. */
export async function takeRetryToken(trx: Transaction<Database>, now: Date): Promise<number> {
  // Tokens may be owed: whoever takes one when none is left waits its turn, in the order of the row's lock.
  const { rows } = await sql<{ tokens: number }>`
    insert into retry_bucket as b (id, tokens, updated_at) values (1, ${BURST - 1}, ${now})
    on conflict (id) do update set
      tokens = least(${BURST}::double precision,
                     b.tokens + greatest(0, extract(epoch from excluded.updated_at - b.updated_at)) * ${TOKENS_PER_SECOND}) - 1,
      updated_at = greatest(b.updated_at, excluded.updated_at)
    returning tokens`.execute(trx)
  const tokens = rows[0]?.tokens ?? 0
  return tokens >= 0 ? 0 : Math.ceil((-tokens * 1000) / TOKENS_PER_SECOND)
}

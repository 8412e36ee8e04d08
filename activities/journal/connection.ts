// How Pawl reaches PostgreSQL. A server that falls silent without a word, as after a failover, is noticed within half a minute.
//
//   C0. Who has to wait for a connection of a pool waits; it is a server that has to answer in time.
//   C1. A connection on which nothing happens is probed by the system (keep-alive): dead after 20 s without an answer.
//   C2. A statement that is not answered in 25 s has failed, and its connection is closed: who knows what it is doing. The server gives up before, at 20 s,
//       so that one that is there says what it was.
//   C3. TLS is what the URL says, as libpq has it: sslmode (verify-full in production), sslrootcert, sslcert, sslkey.

import type { ClientConfig } from 'pg'

/** How long a server may take to take a connection. */
export const CONNECT_MS = 10_000
const PROBE_AFTER_MS = 10_000
const STATEMENT_MS = 20_000
const ANSWER_MS = 25_000

export interface ConnectionLimits {
  /** After which the server ends a statement, in milliseconds (20,000); 0: never, for migrations. */
  readonly statementMs?: number
  /** After which an answer is not waited for any more, in milliseconds (25,000); 0: never. */
  readonly answerMs?: number
}

/** For `pg.Client` and `pg.Pool`; a pool takes `connectionTimeoutMillis` for the wait for a connection of its own, so that is the client's to say. */
export function connectionTo(url: string, { statementMs = STATEMENT_MS, answerMs = ANSWER_MS }: ConnectionLimits = {}) {
  return {
    connectionString: url,
    keepAlive: true,
    keepAliveInitialDelayMillis: PROBE_AFTER_MS,
    statement_timeout: statementMs,
    query_timeout: answerMs,
  } as const satisfies ClientConfig
}

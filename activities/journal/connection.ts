// Connections to PostgreSQL: time limits and prepared statements. A server that stops answering, as after a failover,
// is noticed within 30 s.
//
//   C0. Waiting for a free connection of a pool has no limit; only the server has a time limit.
//   C1. The operating system probes an idle connection (keep-alive); after 20 s without an answer the connection is
//       dead.
//   C2. A statement without an answer after 25 s fails and its connection is closed, because its state is unknown. The
//       server cancels a statement after 20 s, so that a live server can name the statement.
//   C3. TLS settings come from the URL in libpq's form: sslmode (verify-full in production), sslrootcert, sslcert,
//       sslkey.
//   P1. A prepared statement's name is a hash of its text, so PostgreSQL plans each text once per connection. Planning
//       took two thirds of PostgreSQL's time without this.
//   P2. A migration may change the result type of a prepared statement, which PostgreSQL then refuses on that
//       connection. All statement names change when that happens.
//   P3. A connection with a timed-out statement is closed, because the next statement would wait behind it.

import pg from 'pg'
import type { ClientConfig } from 'pg'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'

/** Time limit for opening a connection. */
export const CONNECT_MS = 10_000
const PROBE_AFTER_MS = 10_000
const STATEMENT_MS = 20_000
const ANSWER_MS = 25_000

export interface ConnectionLimits {
  /** Milliseconds after which the server cancels a statement (20,000); 0: never, for migrations. */
  readonly statementMs?: number
  /** Milliseconds after which the client stops waiting for an answer (25,000); 0: never. */
  readonly answerMs?: number
}

/**
 * Configuration for `pg.Client` and `pg.Pool`. `connectionTimeoutMillis` is missing, because a pool uses it for the
 * wait for a free connection (C0); PreparingClient sets it.
 */
export function connectionConfig(
  url: string,
  { statementMs = STATEMENT_MS, answerMs = ANSWER_MS }: ConnectionLimits = {},
) {
  return {
    connectionString: url,
    keepAlive: true,
    keepAliveInitialDelayMillis: PROBE_AFTER_MS,
    statement_timeout: statementMs,
    query_timeout: answerMs,
  } as const satisfies ClientConfig
}

// SQLSTATE feature_not_supported: "cached plan must not change result type".
const CHANGED_RESULT = '0A000'
/** The library marks a timeout by this message alone. */
const NO_ANSWER = 'Query read timeout'
// Statements with different numbers of rows have different texts. Beyond this limit the map of names is cleared; the
// server keeps its plans.
const MOST_NAMES = 500

let generation = 0
const names = new Map<string, string>()

type Run = (this: pg.Client, ...args: unknown[]) => Promise<unknown>

/** A connection that prepares every statement with parameters. */
export class PreparingClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MS })
  }
}

// `query` has a dozen overloads; only the call of the query builder (text and parameters) is changed.
const originalQuery = Reflect.get(pg.Client.prototype, 'query') as Run
const queryPrepared: Run = function (...args) {
  const [text, values] = args
  const isPrepared = args.length === 2 && typeof text === 'string' && Array.isArray(values) && values.length > 0
  const answer: unknown = isPrepared
    ? originalQuery.call(this, { name: nameOf(text), text, values })
    : originalQuery.apply(this, args)
  // A call with a callback returns no promise.
  if (!(answer instanceof Promise)) return answer as Promise<unknown>
  return answer.catch(async (error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === CHANGED_RESULT) renamePreparedStatements()
    // Otherwise the pool would reuse the connection.
    if (error instanceof Error && error.message === NO_ANSWER) await closeImmediately(this)
    throw error
  })
}
Object.defineProperty(PreparingClient.prototype, 'query', { value: queryPrepared, writable: true, configurable: true })

/** Closes the socket without the Terminate message of `end`, which could block as well. */
export async function closeImmediately(client: pg.Client): Promise<void> {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection
  if (stream.closed) return
  const closed = once(stream, 'close')
  stream.destroy()
  await closed
}

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= MOST_NAMES) names.clear()
  const name = `pawl_${generation}_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
  names.set(text, name)
  return name
}

function renamePreparedStatements(): void {
  generation += 1
  names.clear()
}

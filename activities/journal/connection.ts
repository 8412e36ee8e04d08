// How Pawl reaches PostgreSQL. A server that falls silent without a word, as after a failover, is noticed within half a minute.
//
//   C0. Who has to wait for a connection of a pool waits; it is a server that has to answer in time.
//   C1. A connection on which nothing happens is probed by the system (keep-alive): dead after 20 s without an answer.
//   C2. A statement that is not answered in 25 s has failed, and its connection is closed: who knows what it is doing. The server gives up before, at 20 s,
//       so that one that is there says what it was.
//   C3. TLS is what the URL says, as libpq has it: sslmode (verify-full in production), sslrootcert, sslcert, sslkey.

import pg from 'pg'
import type { ClientConfig } from 'pg'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'

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

// Statements are prepared once per connection: parsing and planning them anew took two thirds of PostgreSQL's time.
//
//   P1. A statement's name is a hash of its text, so the same text is planned once.
//   P2. A migration may change what a prepared statement returns, which PostgreSQL refuses for ever on that connection: the names change then.
//   P3. A connection whose answer is not waited for any more is closed: the next statement would wait for it as well.

// SQLSTATE feature_not_supported: "cached plan must not change result type".
const CHANGED_RESULT = '0A000'
/** The library's only word for it. */
const NO_ANSWER = 'Query read timeout'
// Texts that differ by the number of their rows are many; beyond this the map of names starts anew (the server keeps what it has).
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

// The method has a dozen overloads; only what the query builder calls (text and parameters) is changed.
const originalQuery = Reflect.get(pg.Client.prototype, 'query') as Run
const queryPrepared: Run = function (...args) {
  const [text, values] = args
  const isPrepared = args.length === 2 && typeof text === 'string' && Array.isArray(values) && values.length > 0
  const answer: unknown = isPrepared
    ? originalQuery.call(this, { name: nameOf(text), text, values })
    : originalQuery.apply(this, args)
  // One with a callback has none.
  if (!(answer instanceof Promise)) return answer as Promise<unknown>
  return answer.catch(async (error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === CHANGED_RESULT) renamePreparedStatements()
    // Else the pool would hand it out again.
    if (error instanceof Error && error.message === NO_ANSWER) await closeImmediately(this)
    throw error
  })
}
Object.defineProperty(PreparingClient.prototype, 'query', { value: queryPrepared, writable: true, configurable: true })

/** Without the farewell that `end` sends, which would wait as well. */
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

// Statements are prepared once per connection: parsing and planning them anew took two thirds of PostgreSQL's time.
//
//   P1. A statement's name is a hash of its text, so the same text is planned once.
//   P2. A migration may change what a prepared statement returns, which PostgreSQL refuses for ever on that connection: the names change then.
//   P3. A connection whose answer is not waited for any more is closed: the next statement would wait for it as well.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { CONNECT_MS } from './connection.ts'

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
const send = Reflect.get(pg.Client.prototype, 'query') as Run
const prepared: Run = function (...args) {
  const [text, values] = args
  const isPrepared = args.length === 2 && typeof text === 'string' && Array.isArray(values) && values.length > 0
  const answer: unknown = isPrepared ? send.call(this, { name: nameOf(text), text, values }) : send.apply(this, args)
  // One with a callback has none.
  if (!(answer instanceof Promise)) return answer as Promise<unknown>
  return answer.catch(async (error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === CHANGED_RESULT) forget()
    // Else the pool would hand it out again.
    if (error instanceof Error && error.message === NO_ANSWER) await closeAtOnce(this)
    throw error
  })
}
Object.defineProperty(PreparingClient.prototype, 'query', { value: prepared, writable: true, configurable: true })

/** Without the farewell that `end` sends, which would wait as well. */
export async function closeAtOnce(client: pg.Client): Promise<void> {
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

function forget(): void {
  generation += 1
  names.clear()
}

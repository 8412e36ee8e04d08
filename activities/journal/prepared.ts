// Statements are prepared once per connection: parsing and planning them anew took two thirds of PostgreSQL's time.
//
//   P1. A statement's name is a hash of its text, so the same text is planned once.
//   P2. A migration may change what a prepared statement returns, which PostgreSQL refuses for ever on that connection: the names change then.

import { createHash } from 'node:crypto'
import pg from 'pg'

// SQLSTATE feature_not_supported: "cached plan must not change result type".
const CHANGED_RESULT = '0A000'
// Texts that differ by the number of their rows are many; beyond this the map of names starts anew (the server keeps what it has).
const MOST_NAMES = 500

let generation = 0
const names = new Map<string, string>()

type Run = (this: pg.Client, ...args: unknown[]) => Promise<unknown>

/** A connection that prepares every statement with parameters. */
export class PreparingClient extends pg.Client {}

// The method has a dozen overloads; only what the query builder calls (text and parameters) is changed.
const send = Reflect.get(pg.Client.prototype, 'query') as Run
const prepared: Run = function (...args) {
  const [text, values] = args
  if (args.length !== 2 || typeof text !== 'string' || !Array.isArray(values) || values.length === 0)
    return send.apply(this, args)
  return send.call(this, { name: nameOf(text), text, values }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === CHANGED_RESULT) forget()
    throw error
  })
}
Object.defineProperty(PreparingClient.prototype, 'query', { value: prepared, writable: true, configurable: true })

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

// The journal for those who only ask: a connection through which no write compiles, and none is taken by the server.

import type { ReadonlyKysely } from 'kysely/readonly'
import { type Database, openDatabase } from '../database.ts'

export type Reader = ReadonlyKysely<Database>

/** The caller ends it with `destroy()`. */
export function openReader(url: string): Reader {
  // The library's own way to the narrower type: at run time both are the same.
  return openDatabase(withoutWrites(url), 2) as never
}

/** The URL with which the server refuses writes, too. */
function withoutWrites(text: string): string {
  const url = URL.parse(text)
  if (url === null) return text
  const options = url.searchParams.get('options')
  url.searchParams.set('options', `${options === null ? '' : `${options} `}-c default_transaction_read_only=on`)
  return url.href
}

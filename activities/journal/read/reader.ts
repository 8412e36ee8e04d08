// The journal for those who only ask: a connection through which no write compiles, and none is taken by the server.

import type { ReadonlyKysely } from 'kysely/readonly'
import { type Database, type DatabaseOptions, openDatabase } from '../database.ts'

export type Reader = ReadonlyKysely<Database>

/** What is asked: the journal, of one cluster. */
export interface Journal {
  readonly db: Reader
  /** Its name in the journal: another one may have objects of the same uids, as one that was made of a copy. */
  readonly cluster: string
}

/** The caller ends it with `destroy()`. */
export function openReader(url: string, maxConnections = 2, limits: Omit<DatabaseOptions, 'readOnly'> = {}): Reader {
  // The library's own way to the narrower type: at run time both are the same.
  return openDatabase(url, maxConnections, { ...limits, readOnly: true }) as never
}

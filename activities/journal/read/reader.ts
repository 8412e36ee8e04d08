// A read-only connection to the journal: writes neither compile nor are accepted by the server.

import type { ReadonlyKysely } from 'kysely/readonly'
import { type Database, type DatabaseOptions, openDatabase } from '../database.ts'

export type Reader = ReadonlyKysely<Database>

/** The journal of one cluster. */
export interface Journal {
  readonly db: Reader
  /**
   * The cluster's name in the journal. Another cluster may have objects with the same uids, for example a restored
   * copy.
   */
  readonly cluster: string
}

/** Opens a reader; the caller closes it with `destroy()`. */
export function openReader(url: string, maxConnections = 2, limits: Omit<DatabaseOptions, 'readOnly'> = {}): Reader {
  // kysely has no cast to the narrower type; at run time both are the same.
  return openDatabase(url, maxConnections, { ...limits, readOnly: true }) as never
}

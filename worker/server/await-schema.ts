// A process works on a journal that has the tables it knows. PostgreSQL may still be on its way at the start, and so may `pawl migrate up`.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { readSchema, SchemaAhead } from '../../activities/journal/migrate.ts'
import { createBackoff, persist } from './backoff.ts'
import type { Logger } from './log.ts'
import type { Troubles } from './health.ts'

const DELAYS = { first: 200, longest: 5000 }

/**
 * Waits until the journal is there and has all that this build knows; /readyz says so meanwhile.
 *
 * @returns false when the process is told to stop before that.
 * @throws SchemaAhead when a newer build has migrated the journal to what this one cannot work with.
 */
export async function awaitSchema(
  db: Kysely<Database>,
  { log, troubles }: { readonly log: Logger; readonly troubles: Troubles },
  signal: AbortSignal,
): Promise<boolean> {
  const failed = (error: unknown, delayMs: number) => {
    troubles.report('journal', error)
    log.warn({ err: error, delayMs }, 'the journal is not ready; looking again')
  }
  const found = await persist(async () => await lookAt(db), failed, {
    backoff: createBackoff(DELAYS, Math.random),
    signal,
  })
  if (found === undefined) return false
  if (found.ahead !== undefined) throw found.ahead
  troubles.report('journal', undefined)
  if (found.newer.length > 0)
    log.info({ migrations: found.newer }, 'a newer Pawl has migrated the journal; this one may work beside it')
  return true
}

interface Found {
  readonly newer: readonly string[]
  /** Waiting does not help. */
  readonly ahead?: SchemaAhead
}

async function lookAt(db: Kysely<Database>): Promise<Found> {
  try {
    const { missing, newer } = await readSchema(db)
    if (missing.length > 0) throw new Error(`journal: ${listed(missing)} missing; expected pawl migrate up to have run`)
    return { newer }
  } catch (error) {
    if (error instanceof SchemaAhead) return { newer: [], ahead: error }
    throw error
  }
}

function listed(names: readonly string[]): string {
  return names.length === 1 ? `migration ${names[0]} is` : `migrations ${names.join(', ')} are`
}

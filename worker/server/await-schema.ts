// Waits for the journal's schema at the start of a process: PostgreSQL or `pawl migrate up` may not be ready yet.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { readSchema, SchemaAhead } from '../../activities/journal/migrate.ts'
import { createBackoff, retryUntilStopped } from './backoff.ts'
import type { Logger } from './log.ts'
import type { ReadinessChecks } from './health.ts'

const DELAYS = { first: 200, longest: 5000 }

/**
 * Waits until the journal answers and has all migrations of this build; /readyz reports the error meanwhile.
 *
 * @returns false if the process is stopped before that.
 * @throws SchemaAhead if a newer build has migrated the journal to a schema that this build does not support.
 */
export async function awaitSchema(
  db: Kysely<Database>,
  { log, checks }: { readonly log: Logger; readonly checks: ReadinessChecks },
  signal: AbortSignal,
): Promise<boolean> {
  const onFailure = (error: unknown, delayMs: number) => {
    checks.report('journal', error)
    log.warn({ err: error, delayMs }, 'the journal is not ready; retrying')
  }
  const schema = await retryUntilStopped(async () => await checkSchema(db), onFailure, {
    backoff: createBackoff(DELAYS, Math.random),
    signal,
  })
  if (schema === undefined) return false
  if (schema.ahead !== undefined) throw schema.ahead
  checks.report('journal', undefined)
  if (schema.newer.length > 0)
    log.info(
      { migrations: schema.newer },
      'a newer Pawl has migrated the journal; this version supports the new schema',
    )
  return true
}

interface SchemaState {
  readonly newer: readonly string[]
  /** Present if retrying does not help. */
  readonly ahead?: SchemaAhead
}

async function checkSchema(db: Kysely<Database>): Promise<SchemaState> {
  try {
    const { missing, newer } = await readSchema(db)
    if (missing.length > 0) throw new Error(`journal: ${describeMigrations(missing)} missing; run pawl migrate up`)
    return { newer }
  } catch (error) {
    if (error instanceof SchemaAhead) return { newer: [], ahead: error }
    throw error
  }
}

function describeMigrations(names: readonly string[]): string {
  return names.length === 1 ? `migration ${names[0]} is` : `migrations ${names.join(', ')} are`
}

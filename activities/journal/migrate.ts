// Applies migrations to a journal. Two processes may do this at the same time: kysely's migrator holds an advisory
// lock.

import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as createJournal from '../../migrations/0001_create_journal.ts'
import * as keyByGroup from '../../migrations/0002_key_kinds_by_group.ts'
import * as keepHosted from '../../migrations/0003_keep_hosted_jobs.ts'
import * as keepServes from '../../migrations/0004_keep_what_runs_serve.ts'
import * as takeTurns from '../../migrations/0005_take_turns.ts'
import * as fenceFormer from '../../migrations/0006_fence_former_runs.ts'
import * as noteStuck from '../../migrations/0007_note_stuck_runs.ts'
import * as pruneByIndex from '../../migrations/0008_prune_by_index.ts'
import * as sayWhoMayWork from '../../migrations/0009_say_who_may_work.ts'
import * as findByPlace from '../../migrations/0010_find_children_by_place.ts'
import * as takePassTurns from '../../migrations/0011_take_pass_turns.ts'
import * as findByFlow from '../../migrations/0012_find_givers_and_takers.ts'
import * as knowLiving from '../../migrations/0013_know_living_processes.ts'
import * as subscribeByTraits from '../../migrations/0014_subscribe_by_traits.ts'
import * as listOnATimeline from '../../migrations/0015_list_on_a_timeline.ts'
import * as recordManagers from '../../migrations/0016_record_field_managers.ts'
import * as noteNamespace from '../../migrations/0017_note_watched_namespace.ts'
import { type Database, openDatabase } from './database.ts'
import { ensurePartitions } from './write/partitions.ts'

/** All migrations in the order of their names. A released migration is never changed. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_create_journal': createJournal,
  '0002_key_kinds_by_group': keyByGroup,
  '0003_keep_hosted_jobs': keepHosted,
  '0004_keep_what_runs_serve': keepServes,
  '0005_take_turns': takeTurns,
  '0006_fence_former_runs': fenceFormer,
  '0007_note_stuck_runs': noteStuck,
  '0008_prune_by_index': pruneByIndex,
  '0009_say_who_may_work': sayWhoMayWork,
  '0010_find_children_by_place': findByPlace,
  '0011_take_pass_turns': takePassTurns,
  '0012_find_givers_and_takers': findByFlow,
  '0013_know_living_processes': knowLiving,
  '0014_subscribe_by_traits': subscribeByTraits,
  '0015_list_on_a_timeline': listOnATimeline,
  '0016_record_field_managers': recordManagers,
  '0017_note_watched_namespace': noteNamespace,
}

export interface MigrationState {
  readonly name: string
  /** Undefined: not applied yet. */
  readonly appliedAt: Date | undefined
}

/**
 * Applies missing migrations and creates the first partitions. A journal that a newer build has migrated stays
 * unchanged.
 *
 * @returns the names of the applied migrations.
 * @throws SchemaAhead, MigrationFailed.
 */
export async function migrateUp(url: string, now: Date = new Date()): Promise<string[]> {
  return await withDatabase(url, async (db) => {
    const { newer } = await readSchema(db)
    if (newer.length > 0) {
      await ensurePartitions(db, now)
      return []
    }
    const applied = await applyMissingMigrations(db)
    await ensurePartitions(db, now)
    return applied
  })
}

const DEADLOCK = '40P01'
const MOST_TRIES = 5

async function applyMissingMigrations(db: Kysely<Database>, tries = 1): Promise<string[]> {
  const { error, results = [] } = await migratorOf(db).migrateToLatest()
  if (error === undefined) return results.map(({ migrationName }) => migrationName)
  // The deadlock rolled back the whole migration.
  if (error instanceof Error && 'code' in error && error.code === DEADLOCK && tries < MOST_TRIES)
    return await applyMissingMigrations(db, tries + 1)
  throw new MigrationFailed(results.find(({ status }) => status === 'Error')?.migrationName, error)
}

/** Every known migration and when it was applied. */
export async function migrationStatus(url: string): Promise<MigrationState[]> {
  return await withDatabase(url, async (db) => {
    const migrations = await migratorOf(db).getMigrations()
    return migrations.map(({ name, executedAt }) => ({ name, appliedAt: executedAt }))
  })
}

export interface Schema {
  /** Migrations that this build knows and the journal lacks. */
  readonly missing: readonly string[]
  /** Migrations in the journal that this build does not know. */
  readonly newer: readonly string[]
}

/**
 * Compares the journal's migrations with this build's migrations.
 *
 * @throws SchemaAhead when this build is too old for the journal; errors of the database.
 */
export async function readSchema(db: Kysely<Database>): Promise<Schema> {
  const known = Object.keys(MIGRATIONS)
  const applied = new Set(await appliedMigrations(db))
  const schema = {
    missing: known.filter((name) => !applied.has(name)),
    newer: [...applied].filter((name) => !known.includes(name)).sort(),
  }
  if (schema.newer.length === 0) return schema
  const { rows } = await sql<{ needs: string }>`select needs from journal_schema`.execute(db)
  const needs = rows[0]?.needs
  if (needs === undefined || !known.includes(needs)) throw new SchemaAhead(needs ?? 'unknown', known.at(-1) ?? 'none')
  return schema
}

/** The names of the journal's migrations, also of those that a newer build has applied; none in an empty database. */
export async function appliedMigrations(db: Kysely<Database>): Promise<readonly string[]> {
  const table = await sql<{ name: string | null }>`select to_regclass('kysely_migration')::text as name`.execute(db)
  // An empty database.
  if ((table.rows[0]?.name ?? null) === null) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map(({ name }) => name)
}

/** A newer build has migrated the journal to a schema that this build cannot use. */
export class SchemaAhead extends Error {
  constructor(needs: string, newest: string) {
    super(
      `journal: a newer Pawl has migrated it, and requires migration ${needs}; this Pawl knows the migrations up to ${newest}; upgrade this process`,
    )
    this.name = 'SchemaAhead'
  }
}

class MigrationFailed extends Error {
  readonly migration: string | undefined

  constructor(migration: string | undefined, cause: unknown) {
    super(`journal: migration ${migration ?? '(none begun)'} stopped: ${String(cause)}`, { cause })
    this.name = 'MigrationFailed'
    this.migration = migration
  }
}

function migratorOf(db: Kysely<Database>): Migrator {
  const locking = Object.entries(MIGRATIONS).map(([name, migration]) => [name, withTableLocks(migration)])
  return new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(Object.fromEntries(locking) as Record<string, Migration>) },
  })
}

/**
 * Tables to lock, in the order in which processes that write events lock them. Any other order could deadlock with
 * running processes.
 */
const LOCK_ORDER = ['object', 'wake', 'job', 'action']

function withTableLocks(migration: Migration): Migration {
  return {
    ...migration,
    async up(db: Kysely<unknown>) {
      for (const name of LOCK_ORDER) {
        const { rows } = await sql<{ found: string | null }>`select to_regclass(${name})::text as found`.execute(db)
        if ((rows[0]?.found ?? null) !== null)
          await sql`lock table ${sql.table(name)} in access exclusive mode`.execute(db)
      }
      await migration.up(db)
    },
  }
}

async function withDatabase<T>(url: string, use: (db: Kysely<Database>) => Promise<T>): Promise<T> {
  // No time limits: a migration may process many rows, and other processes that migrate wait for it.
  const db = openDatabase(url, 2, { statementMs: 0, answerMs: 0 })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

// Creates a separate journal database for a test file, on the PostgreSQL server that all tests share.

import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import pg from 'pg'
import { type Database, openDatabase } from '../../../activities/journal/database.ts'
import { migrateUp } from '../../../activities/journal/migrate.ts'

export interface TestDatabase {
  readonly url: string
  readonly db: Kysely<Database>
  drop(): Promise<void>
}

/** Creates a database with all migrations applied; `migrated: false` leaves it empty. */
export async function createTestDatabase(adminUrl: string, { migrated = true } = {}): Promise<TestDatabase> {
  const name = `journal_${randomBytes(6).toString('hex')}`
  await asAdmin(adminUrl, `create database ${name}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  if (migrated) await migrateUp(url.href)
  const db = openDatabase(url.href)
  return {
    url: url.href,
    db,
    async drop() {
      await db.destroy()
      await asAdmin(adminUrl, `drop database ${name} with (force)`)
    },
  }
}

/** Runs one statement as the database administrator. */
export async function asAdmin(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

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
  if (migrated) await createTemplate(adminUrl)
  await asAdmin(adminUrl, `create database ${name} template ${migrated ? TEMPLATE : 'template0'}`)
  const url = databaseUrl(adminUrl, name)
  const db = openDatabase(url)
  return {
    url,
    db,
    async drop() {
      await db.destroy()
      await asAdmin(adminUrl, `drop database ${name} with (force)`)
    },
  }
}

const TEMPLATE = 'journal_template'
const templates = new Map<string, Promise<void>>()

/** Creates a migrated database that others are copies of, once per server: migrations take longer than a copy. */
async function createTemplate(adminUrl: string): Promise<void> {
  const created = templates.get(adminUrl) ?? migrateTemplate(adminUrl)
  templates.set(adminUrl, created)
  await created
}

async function migrateTemplate(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    // Several test processes use the server. The lock ends with the connection.
    await client.query(`select pg_advisory_lock(hashtext('${TEMPLATE}'))`)
    const { rowCount } = await client.query(`select from pg_database where datname = '${TEMPLATE}'`)
    if (rowCount === 1) return
    // The final name shows that all migrations are applied.
    await client.query(`create database ${TEMPLATE}_unfinished template template0`)
    await migrateUp(databaseUrl(adminUrl, `${TEMPLATE}_unfinished`))
    await client.query(`alter database ${TEMPLATE}_unfinished rename to ${TEMPLATE}`)
  } finally {
    await client.end()
  }
}

function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
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

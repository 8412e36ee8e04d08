// Reports the migrations that the journal lacks before an upgrade, and how long they take. The journal is only read; the
// copy of it is migrated.

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Kysely, sql } from 'kysely'

import type { Database } from '../../../activities/journal/database.ts'
import { appliedMigrations } from '../../../activities/journal/migrate.ts'
import { openReader } from '../../../activities/journal/read/reader.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import { childEnvironment } from '../../server/config.ts'
import { UsageError } from '../../server/usage-error.ts'
import type { Finding } from '../doctor/findings.ts'
import { formatDuration } from '../query/format.ts'
import { failureText } from '../query/open-journal.ts'

const PART = 'migrations'

/**
 * @param build folder of the new version.
 * @param copyURL database with a restored backup: the new version migrates it, and the duration is measured.
 * @throws UsageError if the copy is the journal; Error if the copy does not answer; errors of the journal's database.
 */
export async function migrationFinding(
  build: string,
  journalURL: string,
  copyURL: string | undefined,
): Promise<Finding> {
  const db = openReader(journalURL) as unknown as Kysely<Database>
  try {
    if (copyURL !== undefined) await refuseJournal(db, copyURL)
    const applied = new Set(await appliedMigrations(db))
    const missing = migrationsOf(build).filter((name) => !applied.has(name))
    if (missing.length === 0)
      return { part: PART, verdict: 'ok', text: 'the journal has all migrations of the new version' }
    const names = joinNames(missing, 20)
    const duration =
      copyURL === undefined
        ? `the journal has ${await sizeOf(db)}; to measure the duration, restore a backup and pass it as --journal-copy`
        : `pawl migrate up took ${await migrateCopy(build, copyURL)} on the copy of the journal`
    return { part: PART, verdict: 'warn', text: `the journal lacks ${names}; ${duration}` }
  } finally {
    await db.destroy()
  }
}

function migrationsOf(build: string): readonly string[] {
  return readdirSync(join(build, 'migrations')).flatMap((file) => /^(\d{4}_\w+)\.(?:js|ts)$/.exec(file)?.[1] ?? [])
}

async function sizeOf(db: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ jobs: string; bytes: string }>`
    select pg_size_pretty(pg_database_size(current_database())) as bytes, (select count(*) from job) as jobs`.execute(
    db,
  )
  const [row] = rows
  return `${row?.jobs ?? '?'} jobs and ${row?.bytes ?? '?'}`
}

/** @throws UsageError if the copy is the database of the journal; Error if it does not answer. */
async function refuseJournal(journal: Kysely<Database>, copyURL: string): Promise<void> {
  const place = placeOf(copyURL)
  const isSame = (await identityOf(journal)) === (await identityOfCopy(copyURL, place))
  if (isSame)
    throw new UsageError(`--journal-copy: ${place} is the journal itself; pass another database with a restored backup`)
}

async function identityOfCopy(url: string, place: string): Promise<string> {
  let copy: Kysely<Database> | undefined
  try {
    copy = openReader(url) as unknown as Kysely<Database>
    return await identityOf(copy)
  } catch (error) {
    throw new Error(`--journal-copy: ${place} does not answer: ${failureText(error)}; check the URL`, {
      cause: error,
    })
  } finally {
    await copy?.destroy()
  }
}

/** The same text for all addresses of one database: the start of its server, and its number on this server. */
async function identityOf(db: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ identity: string }>`
    select extract(epoch from pg_postmaster_start_time()) || '/' || oid as identity
    from pg_database where datname = current_database()`.execute(db)
  return rows[0]?.identity ?? ''
}

/** Host, port and name of the database, without user and password. */
function placeOf(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? 'the given database' : `database ${parsed.host}${parsed.pathname}`
}

/** @throws Error with the message of the new version's command. */
async function migrateCopy(build: string, url: string): Promise<string> {
  const startedAt = performance.now()
  const env = { ...childEnvironment(), PAWL_DATABASE_URL: url }
  await promisify(execFile)(process.execPath, [join(build, 'worker/pawl.js'), 'migrate', 'up'], { env }).catch(
    (error: unknown) => {
      const { stderr } = error as { readonly stderr?: string }
      throw new Error(
        `--journal-copy: pawl migrate up of the new version failed: ${(stderr ?? String(error)).trim()}`,
        {
          cause: error,
        },
      )
    },
  )
  return formatDuration(performance.now() - startedAt)
}

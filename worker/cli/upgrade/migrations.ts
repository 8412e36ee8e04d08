// The migrations that the journal lacks before an upgrade, and how long they take. Reads the journal; only a copy of it
// is migrated.

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
import type { Finding } from '../doctor/findings.ts'
import { formatDuration } from '../query/format.ts'

const PART = 'migrations'

/**
 * @param build folder of the new version.
 * @param copyURL database with a restored backup: the new version migrates it, and the duration is measured.
 * @throws errors of the database.
 */
export async function migrationFinding(
  build: string,
  journalURL: string,
  copyURL: string | undefined,
): Promise<Finding> {
  const db = openReader(journalURL) as unknown as Kysely<Database>
  try {
    const applied = new Set(await appliedMigrations(db))
    const missing = migrationsOf(build).filter((name) => !applied.has(name))
    if (missing.length === 0)
      return { part: PART, verdict: 'ok', text: 'the journal has all migrations of the new version' }
    const names = joinNames(missing, 20)
    const duration =
      copyURL === undefined
        ? `the journal has ${await sizeOf(db)}; --journal-copy measures the duration on a restored backup`
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

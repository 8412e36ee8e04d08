// Bridges and workers of the previous release run on the migrated journal as long as journal_schema permits: PostgreSQL accepts all their statements and
// values. The statements were recorded (test/former/record-statements.js); the test runs them on a real PostgreSQL that has the present journal.

import { readdirSync, readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { ensurePartitions } from '../../activities/journal/write/partitions.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { type Outcome, tryStatements } from '../former/try-statements.ts'

interface Former {
  /** The newest migration that the release knew. */
  readonly migration: string
  readonly statements: readonly string[]
}

const former = JSON.parse(readFileSync(new URL('../former/statements.json', import.meta.url), 'utf8')) as Former

let before: TestDatabase
let test: TestDatabase
beforeAll(async () => {
  const { databaseUrl } = inject('servers')
  before = await createTestDatabase(databaseUrl, { migrated: false })
  await migrateTo(before, former.migration)
  test = await createTestDatabase(databaseUrl)
})
afterAll(async () => {
  await before.drop()
  await test.drop()
})

async function migrateTo({ db }: TestDatabase, last: string): Promise<void> {
  const folder = new URL('../../migrations/', import.meta.url)
  const names = readdirSync(folder).map((file) => file.replace(/\.ts$/, ''))
  const load = async (name: string) => [name, (await import(new URL(`${name}.ts`, folder).href)) as Migration] as const
  const migrations = Object.fromEntries(await Promise.all(names.map(load)))
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations) } })
  const { error } = await migrator.migrateTo(last)
  expect(error).toBeUndefined()
  await ensurePartitions(db, new Date())
}

const tried = async (): Promise<Outcome> => await tryStatements(former.statements, before.url, test.url)

describe('processes of the previous release on the present journal', () => {
  it('accept its schema', async () => {
    const { rows } = await sql<{ needs: string }>`select needs from journal_schema`.execute(test.db)
    expect(former.migration >= (rows[0]?.needs ?? '')).toBe(true)
    const { rows: applied } = await sql<{ name: string }>`select name from kysely_migration`.execute(test.db)
    // Otherwise there is nothing to compare.
    expect(applied.filter(({ name }) => name > former.migration).length).toBeGreaterThan(0)
  })

  it('send no statement or value that it rejects', async () => {
    expect(former.statements.length).toBeGreaterThan(50)
    const { refusals, unknown, inFlightRuns } = await tried()
    expect(unknown).toEqual([])
    expect(refusals).toEqual([])
    expect(inFlightRuns.size).toBeGreaterThan(45)
  })

  it('are rejected by a journal without one of their columns, or with a new required column', async () => {
    for (const change of [
      'alter table job rename column restarts to begun_anew',
      'alter table wake drop column may_start',
      'alter table subscription add column must text not null',
      'alter table job alter column last_error set not null',
      'alter table hosted_job add constraint only_over check (outcome is not null)',
    ])
      await sql.raw(change).execute(test.db)
    const found = (await tried()).refusals.map(({ reason }) => reason).join('\n')
    expect(found).toContain('column j.restarts does not exist')
    expect(found).toContain('may_start')
    expect(found).toContain('null value in column "must" of relation "subscription"')
    expect(found).toContain('null value in column "last_error" of relation "job"')
    expect(found).toContain('violates check constraint "only_over"')
  })
})

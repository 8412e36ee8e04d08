// Bridges and workers of the release before work on beside a journal that this one has migrated, as long as journal_schema says so: every statement that
// they send is one that PostgreSQL still takes. Their statements were recorded (test/former/record-statements.js); against a real PostgreSQL.

import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'

interface Former {
  /** The newest that the release knew. */
  readonly migration: string
  readonly statements: readonly string[]
}

const former = JSON.parse(readFileSync(new URL('../former/statements.json', import.meta.url), 'utf8')) as Former

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
})
afterAll(() => test.drop())

/** What PostgreSQL has against a statement, undefined when nothing. */
async function refusal(statement: string): Promise<string | undefined> {
  try {
    await test.db.connection().execute(async (db) => {
      await sql.raw(`prepare former as ${statement}`).execute(db)
      await sql.raw('deallocate former').execute(db)
    })
    return undefined
  } catch (error) {
    return `${String(error)}: ${statement}`
  }
}

async function refusals(): Promise<readonly string[]> {
  const found: (string | undefined)[] = []
  for (const statement of former.statements) found.push(await refusal(statement))
  return found.filter((one) => one !== undefined)
}

describe('processes of the release before, beside the present journal', () => {
  it('are let work on it', async () => {
    const { rows } = await sql<{ needs: string }>`select needs from journal_schema`.execute(test.db)
    expect(former.migration >= (rows[0]?.needs ?? '')).toBe(true)
    const { rows: applied } = await sql<{ name: string }>`select name from kysely_migration`.execute(test.db)
    // Else there would be nothing to tell.
    expect(applied.filter(({ name }) => name > former.migration).length).toBeGreaterThan(0)
  })

  it('send no statement that it refuses', async () => {
    expect(former.statements.length).toBeGreaterThan(50)
    expect(await refusals()).toEqual([])
  })

  it('would be refused by a journal that has lost what they name', async () => {
    await sql`alter table job rename column restarts to begun_anew`.execute(test.db)
    await sql`alter table wake drop column may_start`.execute(test.db)
    const found = (await refusals()).join('\n')
    expect(found).toContain('column j.restarts does not exist')
    expect(found).toContain('may_start')
  })
})

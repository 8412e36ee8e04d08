import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'

const page = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8')
const queries = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? '')

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
})
afterAll(async () => {
  await test.drop()
})

describe('the queries of the page on operating', () => {
  it('are there', () => {
    expect(queries.length).toBeGreaterThan(4)
  })

  it.each(queries)("fit the journal's tables: %s", async (query) => {
    expect((await sql.raw(query).execute(test.db)).rows).toEqual([])
  })
})

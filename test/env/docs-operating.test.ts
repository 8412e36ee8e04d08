import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { useJournal } from '../activities/journal/use-journal.ts'

const page = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8')
const queries = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? '')

const test = useJournal(inject('servers').databaseUrl)

describe('the queries of the page on operating', () => {
  it('are there', () => {
    expect(queries.length).toBeGreaterThan(4)
  })

  it.each(queries)("fit the journal's tables: %s", async (query) => {
    expect((await sql.raw(query).execute(test.db)).rows).toEqual([])
  })
})

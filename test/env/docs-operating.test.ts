import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { useJournal } from '../activities/journal/use-journal.ts'

const PAGES = ['guides/query-journal.md', 'guides/upgrade.md', 'concepts/turns.md']
const texts = await Promise.all(PAGES.map((page) => readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')))
const queries = [...texts.join('\n').matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text ?? '')

const test = useJournal(inject('servers').databaseUrl)

describe('the SQL queries of the guides', () => {
  it('are there', () => {
    expect(queries.length).toBeGreaterThan(7)
  })

  it.each(queries)("fit the journal's tables: %s", async (query) => {
    expect((await sql.raw(query).execute(test.db)).rows).toEqual([])
  })
})

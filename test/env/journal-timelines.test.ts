// The journal does not acquire a lease in a store that speaks the PostgreSQL protocol but has no timelines. This test
// has its own file, because statements that other tests have prepared would not fail.

import { sql } from 'kysely'
import { expect, inject, it } from 'vitest'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { TASK } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

it('a lease is refused by a store without timelines, and what it lacks is said', async () => {
  await sql`alter function pg_catalog.pg_walfile_name(pg_lsn) rename to pg_walfile_no_name`.execute(test.db)
  const taken = acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'a', leaseMs: 60_000 })
  await expect(taken).rejects.toThrow(/^the journal is in a store that does not let pg_walfile_name .* be called; /)
})

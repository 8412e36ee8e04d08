// A store that speaks PostgreSQL's protocol and has no timelines. The file is of its own: statements that were prepared before would not notice.

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

// Workers may handle different partitions of the subjects that a controller's runs host (docs/adr/0027). The job's row
// lists the partitions that the run handles, so that a dispatcher can tell whether the run hosts a subject.
//
// Processes of the previous build continue to work: they write null, which means all partitions and is correct for
// their runs. If workers have partitions, a dispatcher of the previous build may deliver a wake to a run that does not
// handle the subject's partition; the resync then wakes the subject again.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // The partitions of hosted subjects that the run handles; null: all.
  `alter table job add column serves text[]`,
  // Dispatchers query it for every subject. The index is empty if workers have no partitions.
  `create index job_serving on job (uid) where outcome is null and serves is not null`,
]

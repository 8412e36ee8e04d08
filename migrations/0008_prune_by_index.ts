// Indexes for retention, so that it need not scan whole tables. Rows of `action` are stored in the order of their time,
// so a BRIN index suffices.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `create index action_by_time on action using brin (started_at) with (pages_per_range = 32, autosummarize = on)`,
  `create index job_by_end on job (finished_at) where outcome is not null`,
  `create index object_deleted on object (updated_at) where deleted`,
]

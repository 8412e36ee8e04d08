// Workers may share out what a controller's runs host (docs/adr/0027). What a run serves stands in its row, so that whoever resolves a wake knows
// whether it hosts the subject.
//
// No former process is refused: its statements name the columns that they know, and its rows say null, all, which is so. Only where workers share
// lanes out may a former one bring the wake of a subject to a run that does not serve it; the sweep finds that subject, and wakes it anew.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // The lanes that the run serves of what it may host; null = all.
  `alter table job add column serves text[]`,
  // Asked for with every subject; empty where no lanes are shared out.
  `create index job_serving on job (uid) where outcome is null and serves is not null`,
]

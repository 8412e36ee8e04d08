// Fences workers of the previous build. Since this build, a root's run hosts the jobs of its children (docs/adr/0023).
// A dispatcher of the previous build would start runs for hosted children, and its open runs wait for such runs.
//
//   - The lease owner of a wake must have the prefix of this build (activities/journal/write/wakes.ts). Dispatchers of
//     the previous build lack it, so they claim no wakes and retry with back-off until they are replaced. The migration
//     releases their leases.
//   - All open jobs belong to runs of the previous build. Workers of this build end these runs and wake the subjects;
//     the jobs continue from the state of their objects.
//   - The migration deletes wakes of groups of items, because no dispatcher handles them any more.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `delete from wake where job_id <> ''`,
  `update wake set due = least(due, next_due), foreign_event = foreign_event or coalesce(next_foreign_event, false),
     may_start = may_start or coalesce(next_may_start, false), lease_owner = null, lease_until = null,
     next_due = null, next_foreign_event = null, next_may_start = null
   where lease_owner is not null`,
  `alter table wake add constraint wake_of_present_runs check (lease_owner like 'runs 2 %')`,
  // started_at: copied from the job. A job with another started_at was reopened by this build.
  `create table former_run (workflow_id text primary key, started_at timestamptz not null)`,
  `insert into former_run select workflow_id, started_at from job where outcome is null`,
]

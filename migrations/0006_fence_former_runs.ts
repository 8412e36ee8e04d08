// Jobs of children run inside those of their roots now (docs/adr/0023), so a worker of the build before is a hindrance while it lives: its dispatcher
// would start runs for children that are hosted here, and its open runs wait for such runs of children.
//
//   - Whoever claims wakes says so in front of its name (activities/journal/write/wakes.ts): the dispatchers of former builds do not, and claim
//     nothing any more. They try again, ever more rarely, until they are replaced. What they hold is free.
//   - The open rows are former ones. The next sweep ends their runs, and their subjects are woken: jobs go on from what their objects show.
//   - Wakes of groups of items are nobody's any more.

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
  // started_at: as the row of the job had it. One that was opened again since is no former one.
  `create table former_run (workflow_id text primary key, started_at timestamptz not null)`,
  `insert into former_run select workflow_id, started_at from job where outcome is null`,
]

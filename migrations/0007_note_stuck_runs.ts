// Records runs whose workflow task fails: non-replayable runs ('misfit'), which other code started, and runs whose code
// throws ('bug'). The worker that observes the failure writes the record; workers read it to restart the runs
// (worker/reconciler/stuck-runs.ts).

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // build: the build of that worker's workflows. at: time of the run's first such failure.
  `create table stuck_run (
    workflow_id text primary key,
    run_id text not null,
    what text not null check (what in ('bug', 'misfit')),
    build text not null,
    message text not null,
    at timestamptz not null
  )`,
  // restarts: number of the job's restarts because of changed code. restarted_at: time of the last restart.
  `alter table job add column restarts integer not null default 0`,
  `alter table job add column restarted_at timestamptz`,
]

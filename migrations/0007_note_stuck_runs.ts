// Runs whose workflow task fails, as the worker in which it failed has noted them: those that were made by other code than the present one, and
// those that met a bug. Workers read it to start them anew (worker/reconciler/stuck-runs.ts).

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // build: of the workflows of that worker. at: when the run was first seen to fail so.
  `create table stuck_run (
    workflow_id text primary key,
    run_id text not null,
    what text not null check (what in ('bug', 'misfit')),
    build text not null,
    message text not null,
    at timestamptz not null
  )`,
  // How often the job's run was ended because code had changed, and when it was for the last time.
  `alter table job add column restarts integer not null default 0`,
  `alter table job add column restarted_at timestamptz`,
]

// A root's run hosts the jobs of its children, so `job` contains only jobs of roots and `hosted_job` the jobs of
// children. The view `object_job` contains the jobs of all objects. Rows of runs of previous builds, one per object,
// stay unchanged.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // workflow_id: the hosting run. outcome null: open. phases: [{phase, at}].
  `create table hosted_job (
    workflow_id text not null,
    controller text not null,
    cluster text not null,
    uid text not null,
    job_id text not null,
    namespace text not null,
    name text not null,
    phase text not null,
    phases jsonb not null,
    outcome text,
    last_error jsonb,
    started_at timestamptz not null,
    finished_at timestamptz,
    primary key (workflow_id, uid)
  )`,
  `create index hosted_job_by_object on hosted_job (uid, started_at desc)`,
  `create view object_job as
    select workflow_id, controller, cluster, uid, job_id, namespace, name, cause, phase, phases, outcome, last_error, started_at, finished_at
    from job
    union all
    select workflow_id, controller, cluster, uid, job_id, namespace, name, 'hosted', phase, phases, outcome, last_error, started_at, finished_at
    from hosted_job`,
]

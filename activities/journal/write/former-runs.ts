// Runs of former builds, as a migration has noted them: they are ended, and their jobs begun anew by workers of this build (migrations/0006).

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Job } from './jobs.ts'

/** Rows of these controllers that are open as the migration has found them. Notes of others that have closed, or were opened again since, go. */
export async function formerJobs(
  db: Kysely<Database>,
  { cluster, controllers }: { readonly cluster: string; readonly controllers: readonly string[] },
): Promise<readonly Job[]> {
  const { rows } = await sql<Job>`
    with past as (
      delete from former_run f where not exists (
        select from job j where j.workflow_id = f.workflow_id and j.started_at = f.started_at and j.outcome is null))
    select j.* from former_run f join job j on j.workflow_id = f.workflow_id and j.started_at = f.started_at
    where j.outcome is null and j.cluster = ${cluster} and j.controller = any(${controllers}::text[])
    order by j.started_at`.execute(db)
  return rows
}

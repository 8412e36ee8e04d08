// Jobs of children that are hosted by the runs of their roots: the phases in which they waited, and how they ended.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'

export interface HostedJob {
  /** Of the run that hosts the child. */
  readonly workflow_id: string
  /** The child's. */
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly job_id: string
  readonly namespace: string
  readonly name: string
  readonly phase: string
  /** The phase ends the job. */
  readonly is_over: boolean
  readonly last_error: object | null
}

/** Records what a pass settled of hosted children; a phase that is new is appended to the row's list with its time. */
export async function recordHosted(db: Kysely<Database>, rows: readonly HostedJob[], now: Date): Promise<void> {
  if (rows.length === 0) return
  await sql`
    insert into hosted_job as h (workflow_id, controller, cluster, uid, job_id, namespace, name, phase, phases, outcome, last_error,
                                 started_at, finished_at)
    select workflow_id, controller, cluster, uid, job_id, namespace, name, phase,
           json_build_array(json_build_object('phase', phase, 'at', ${now.toISOString()}::text))::jsonb,
           case when is_over then phase end, last_error, ${now}::timestamptz, case when is_over then ${now}::timestamptz end
    from json_to_recordset(${JSON.stringify(rows)}::json) as r(
      workflow_id text, controller text, cluster text, uid text, job_id text, namespace text, name text, phase text, is_over boolean,
      last_error jsonb)
    order by workflow_id, uid
    on conflict (workflow_id, uid) do update set
      phases = case when h.phase = excluded.phase then h.phases else h.phases || excluded.phases end,
      phase = excluded.phase, outcome = excluded.outcome, last_error = excluded.last_error, finished_at = excluded.finished_at`.execute(
    db,
  )
}

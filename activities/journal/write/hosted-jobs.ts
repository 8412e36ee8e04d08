// Stores the phases and outcomes of hosted jobs: jobs of children that run inside their root's run.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'

export interface HostedJob {
  /** Workflow ID of the hosting run. */
  readonly workflow_id: string
  /** Controller of the child. */
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly job_id: string
  readonly namespace: string
  readonly name: string
  readonly phase: string
  /** True if the phase ends the job. */
  readonly is_over: boolean
  readonly last_error: object | null
}

/** Stores the results of a pass for hosted children; a new phase is appended to the row's list with its time. */
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

// The journal's groups for a single element, and one object as the journal has it: what tests look at.

import type { Kysely } from 'kysely'
import type { Database } from '../../../activities/journal/database.ts'
import { closeRun } from '../../../activities/journal/write/close-runs.ts'
import { findOpenJobs, type Job, type NewJob, openJobs } from '../../../activities/journal/write/jobs.ts'
import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { JournaledObject } from '../../../activities/journal/read/subjects.ts'
import { rules } from './build-events.ts'
import { acknowledgeWakes, type Wake } from '../../../activities/journal/write/wakes.ts'

export async function openJob(db: Kysely<Database>, job: NewJob): Promise<void> {
  await openJobs(db, { cluster: job.cluster, subjects: rules }, [job])
}

/** The run that has the row ends, and nothing is left of its object that would have to be looked at. */
export async function endJob(db: Kysely<Database>, workflowID: string, now: Date): Promise<void> {
  const row = await db.selectFrom('job').selectAll().where('workflow_id', '=', workflowID).executeTakeFirstOrThrow()
  await closeRun(db, { ...row, run_id: row.run_id ?? '', mode: 'job' }, 'Deleted', now)
}

export async function findOpenJob(db: Kysely<Database>, controller: string, uid: string): Promise<Job | undefined> {
  const [job] = await findOpenJobs(db, [{ controller, uid }])
  return job
}

export async function acknowledgeWake(db: Kysely<Database>, wake: Wake): Promise<'deleted' | 'renewed' | undefined> {
  const [answer] = await acknowledgeWakes(db, [wake])
  return answer
}

/** Also when it is deleted. */
export async function readObject(
  db: Kysely<Database>,
  cluster: string,
  { group, kind }: GroupKind,
  uid: string,
): Promise<JournaledObject | undefined> {
  return await db
    .selectFrom('object')
    .selectAll()
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('uid', '=', uid)
    .executeTakeFirst()
}

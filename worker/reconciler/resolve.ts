// From a wake to the run it is for, by what the journal knows. No call to Temporal or Kubernetes.
// Source: design.md "Subjects and routes", spec/landscaper.md 2.2.

import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../activities/journal/database.ts'
import { findOpenJob, type Job } from '../../activities/journal/jobs.ts'
import { type JournaledObject, readObject } from '../../activities/journal/objects.ts'
import type { Wake } from '../../activities/journal/wakes.ts'
import { BUILT_IN_TYPES } from '../../workflows/deploy-item/kind.ts'
import { jobIDProblem } from '../../workflows/kit/index.ts'
import { subjectKinds, wantedRun } from '../controllers.ts'
import type { Run } from './runs.ts'

export type Resolution =
  | { readonly to: 'open'; readonly job: Job }
  | { readonly to: 'start'; readonly run: Run }
  | { readonly to: 'nothing'; readonly reason: string }

/** What a wake leads to: the open run of its subject, a new one, or nothing, with the reason. */
export async function resolveWake(db: Kysely<Database>, wake: Wake): Promise<Resolution> {
  // An item without execution has a group per job: which one is meant, its state says. An older one that is still open would drop the wake.
  if (wake.controller === 'deploy' && wake.job_id === '' && wake.may_start) return await resolveStart(db, wake)
  const job = await findOpenJob(db, wake.controller, wake.uid, wake.job_id === '' ? undefined : wake.job_id)
  if (job !== undefined) {
    // A write never wakes the run that made it (design.md "Own writes").
    if (!wake.foreign_event && wake.writer === job.workflow_id) return nothing('own write')
    return { to: 'open', job }
  }
  if (!wake.may_start) return nothing('no open run')
  return await resolveStart(db, wake)
}

/** The run that the subject asks for now. */
export async function resolveStart(db: Kysely<Database>, wake: Wake): Promise<Resolution> {
  return wake.controller === 'deploy' && wake.job_id !== ''
    ? await resolveGroup(db, wake)
    : await resolveSubject(db, wake)
}

async function resolveSubject(db: Kysely<Database>, wake: Wake): Promise<Resolution> {
  const kind = subjectKinds[wake.controller] ?? ''
  const object = await readObject(db, wake.cluster, kind, wake.uid)
  if (object === undefined || object.deleted) return nothing('subject is gone')
  const wanted = wantedRun(wake.controller, object.projection, await isOwnerGone(db, object))
  if ('none' in wanted) return nothing(wanted.none)
  const jobID = wanted.jobID ?? deriveJobID(object)
  return startOf(wake, { kind, uid: object.uid, namespace: object.namespace, name: object.name }, jobID, wanted.cause)
}

async function resolveGroup(db: Kysely<Database>, wake: Wake): Promise<Resolution> {
  const { rows } = await sql<{ uid: string }>`
    select uid from object
    where cluster = ${wake.cluster} and kind = 'DeployItem' and not deleted and (owner_uid = ${wake.uid} or uid = ${wake.uid})
      and projection #>> '{status,jobID}' = ${wake.job_id}
      and projection #>> '{status,jobIDFinished}' is distinct from ${wake.job_id}
      and projection #>> '{spec,type}' = any(${[...BUILT_IN_TYPES]}::text[])
    limit 1`.execute(db)
  const [unfinished] = rows
  if (unfinished === undefined) return nothing('no item has the job unfinished')
  const kind = unfinished.uid === wake.uid ? 'DeployItem' : 'Execution'
  return startOf(wake, { kind, uid: wake.uid, namespace: wake.namespace, name: wake.name }, wake.job_id, wake.cause)
}

function startOf(wake: Wake, subject: Run['input']['subject'], jobID: string, cause: string): Resolution {
  const problem = jobIDProblem(jobID)
  if (problem !== undefined) return nothing(problem)
  return {
    to: 'start',
    run: {
      controller: wake.controller,
      workflowID: `${wake.controller}/${subject.uid}/${jobID}`,
      input: { subject, jobID, cause },
    },
  }
}

async function isOwnerGone(db: Kysely<Database>, object: JournaledObject): Promise<boolean> {
  if (object.owner_uid === null) return true
  const owner = await db
    .selectFrom('object')
    .select('uid')
    .where('cluster', '=', object.cluster)
    .where('uid', '=', object.owner_uid)
    .where('deleted', '=', false)
    .executeTakeFirst()
  return owner === undefined
}

// Namespace of the version 5 UUIDs of jobs; made once for this purpose.
const JOB_NAMESPACE = Buffer.from('6f1c2a54d0b94c7e9a3be8f15d4c7a21', 'hex')

/** The ID of the job that this version of the subject triggers: UUIDv5 of uid and resourceVersion, so that two dispatchers mean the same job. */
export function deriveJobID({ uid, resource_version }: Pick<JournaledObject, 'uid' | 'resource_version'>): string {
  const hash = createHash('sha1').update(JOB_NAMESPACE).update(`${uid}/${resource_version}`).digest().subarray(0, 16)
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function nothing(reason: string): Resolution {
  return { to: 'nothing', reason }
}

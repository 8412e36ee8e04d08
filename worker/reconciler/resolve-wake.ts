// Finds the run for a wake, from the journal alone. Calls neither Temporal nor Kubernetes.
// Source: docs/concepts/architecture.md "Subjects and routes".

import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../activities/journal/database.ts'
import { findOpenJobs, type Job, type JobSubject } from '../../activities/journal/write/jobs.ts'
import {
  type JournaledObject,
  type ObjectID,
  type Parents,
  parentsOf,
  readSubjects,
  type SubjectState,
} from '../../activities/journal/read/subjects.ts'
import type { Wake } from '../../activities/journal/write/wakes.ts'
import type { Involved } from '../../activities/kube/events.ts'
import {
  type NewJobTarget,
  type Controller,
  type ErrorReport,
  groupKindOf,
  groupKindText,
  isIdle,
  jobIDProblem,
  jobIDsOf,
  partitionOf,
  path,
  valueAt,
  type RunRequest,
  requestedRunOf,
  workflowIDOf,
} from '../../workflows/kit/index.ts'
import { builtInRegistry, type Registry } from '../server/registry.ts'
import type { Run } from './runs.ts'

/** `warning`: an Event for the author of the subject. */
export type Resolution = ResolvedTo & WithWarning

interface WithWarning {
  readonly warning?: SubjectWarning
}

export interface SubjectWarning {
  readonly object: Involved
  /** The subject matter of the warning, such as the invalid text. It is part of the Event's name and not shown. */
  readonly about: string
  readonly error: ErrorReport
}

type ResolvedTo =
  | { readonly to: 'open'; readonly job: Job }
  | { readonly to: 'start'; readonly run: Run }
  /** The journal does not know the owner yet, or the start time is in the future. Retry at that time, or after a default delay. */
  | { readonly to: 'later'; readonly reason: string; readonly at?: Date }
  /** `unrecorded`: the ID of a run that may be open without a row in the journal, because the process that started it crashed. */
  | { readonly to: 'nothing'; readonly reason: string; readonly unrecorded?: string }

export type ResolvedWithoutOpenRun = Exclude<Resolution, { readonly to: 'open' }>

/** The lookups of most wakes; the dispatcher batches the lookups of concurrent wakes. */
export interface Lookups {
  readonly registry: Registry
  now(): Date
  findOpen(subject: JobSubject): Promise<Job | undefined>
  readSubject(id: ObjectID): Promise<SubjectState | undefined>
}

/** Lookups without batching. */
export function directLookups(db: Kysely<Database>, registry = builtInRegistry): Lookups {
  return {
    registry,
    now: () => new Date(),
    findOpen: async (subject) => (await findOpenJobs(db, [subject]))[0],
    readSubject: async (id) => (await readSubjects(db, [id], watchedKindKeys(registry)))[0],
  }
}

/** Finds the open run of the wake's subject, the run to start, or the reason to start no run. */
export async function resolveWake(wake: Wake, lookups: Lookups): Promise<Resolution> {
  const { controller, uid } = wake
  const job = await lookups.findOpen({ controller, uid })
  if (job !== undefined) {
    // A write never wakes the run that made it (docs/concepts/architecture.md "Own writes").
    if (!wake.foreign_event && wake.writer === job.workflow_id) return nothing('own write')
    return { to: 'open', job }
  }
  const hosted = await resolveHosted(wake, lookups)
  if (hosted !== undefined) return hosted
  return wake.may_start ? await resolveStart(wake, lookups) : nothing('no open run')
}

/**
 * A subject with the same job as its owner is hosted by the owner's run, or by the run that hosts the owner, unless that run does not handle the
 * subject's type. Undefined: the subject is not hosted.
 */
async function resolveHosted(wake: Wake, lookups: Lookups): Promise<Resolution | undefined> {
  const controller = lookups.registry.controllers.get(wake.controller)
  const [nearest] = controller?.hostedBy ?? []
  if (controller === undefined || nearest === undefined) return undefined
  const found = await lookups.readSubject({ cluster: wake.cluster, ...groupKindOf(controller.target), uid: wake.uid })
  if (found === undefined || found.object.deleted) return undefined
  const { jobID: above } = parentsIn(found, controller, lookups)
  const running = runningJob(found.object)
  if (above === undefined || (running !== undefined && running !== above)) return undefined
  return await resolveHost({ ...wake, controller: nearest, uid: found.object.owner_uid ?? '' }, lookups)
}

/** The run of the root. It may be open without a row in the journal; then Temporal reports it when it is started. */
async function resolveHost(host: Wake, lookups: Lookups): Promise<Resolution> {
  const { controller, uid, foreign_event, writer } = host
  const job = await lookups.findOpen({ controller, uid })
  if (job === undefined) return (await resolveHosted(host, lookups)) ?? (await resolveStart(host, lookups))
  return !foreign_event && writer === job.workflow_id ? nothing('own write') : { to: 'open', job }
}

function parentsIn(
  found: SubjectState,
  { hostedBy = [], partitions: lanes }: Controller,
  { registry: { subjectKinds } }: Lookups,
): Parents {
  const hosts = hostedBy.flatMap((host) => subjectKinds[host] ?? [])
  return parentsOf(found, hosts, partitionOf(lanes, found.object.projection))
}

function runningJob({ projection }: Pick<JournaledObject, 'projection'>): string | undefined {
  const ids = jobIDsOf(projection)
  return isIdle(ids) ? undefined : ids.jobID
}

/** The run that the subject requests now. */
export async function resolveStart(wake: Wake, lookups: Lookups): Promise<ResolvedWithoutOpenRun> {
  const controller = lookups.registry.controllers.get(wake.controller)
  if (controller === undefined) return nothing(`unknown controller ${wake.controller}`)
  const kind = groupKindOf(controller.target)
  const found = await lookups.readSubject({ cluster: wake.cluster, ...kind, uid: wake.uid })
  if (found === undefined || found.object.deleted) return resolveDeletedSubject(wake, lookups)
  const { object } = found
  const lane = partitionOf(controller.partitions, object.projection)
  const { owner, jobID: above } = parentsIn(found, controller, lookups)
  const wanted = requestedRunOf(controller.requestedRun, object.projection, owner, above)
  if (wanted === undefined) return { to: 'later', reason: 'its owner was not listed yet' }
  const subject = { ...kind, uid: object.uid, namespace: object.namespace, name: object.name }
  const refusal = refusalOf(controller, subject, object)
  if ('none' in wanted)
    return { ...nothing(wanted.none), ...warningOf(wanted, controller, subject, object), ...refusal }
  const now = lookups.now()
  const { notBefore = 0 } = wanted
  if (now.getTime() < notBefore) return { ...notYet(wanted.cause, notBefore, now.getTime()), ...refusal }
  const { jobID = deriveJobID(object), cause, onBegin } = wanted
  const first = onBegin === undefined ? {} : { begun: onBegin(now.toISOString()) }
  const asked =
    wanted.jobID === undefined && wanted.isJobless !== true ? { ...targetOfNewJob(object), ...first } : undefined
  return { ...startOf(wake, subject, { jobID, cause, lane, asked }), ...refusal }
}

// The longest delay that PostgreSQL and JavaScript dates both support; then the wake is resolved again.
const LONGEST_WAIT_MS = 365 * 24 * 3_600_000

function notYet(cause: string, notBefore: number, nowMs: number): ResolvedWithoutOpenRun {
  const at = new Date(Math.min(notBefore, nowMs + LONGEST_WAIT_MS))
  return { to: 'later', reason: `${cause}: not before ${at.toISOString()}`, at }
}

function warningOf(
  { warning: error }: Extract<RunRequest, { readonly none: string }>,
  { target: { apiVersion } }: Controller,
  subject: Run['input']['subject'],
  { projection }: JournaledObject,
): WithWarning {
  if (error === undefined) return {}
  return { warning: { object: { ...subject, apiVersion }, about: jobIDsOf(projection).jobID ?? '', error } }
}

/** Warns about a text in `status.jobID` that is not a valid job ID. */
function refusalOf(
  { mode, target: { apiVersion } }: Controller,
  subject: Run['input']['subject'],
  { projection }: JournaledObject,
): WithWarning {
  const { jobID: text } = jobIDsOf(projection)
  const message = jobIDProblem(text)
  if (mode !== 'job' || text === undefined || message === undefined) return {}
  const error = { operation: 'Reconcile', reason: 'InvalidJobID', message }
  return { warning: { object: { ...subject, apiVersion }, about: text, error } }
}

/** The version on which a new job starts without a read; the first write of the job fails if the object has changed. */
function targetOfNewJob({ projection, resource_version }: JournaledObject): NewJobTarget {
  const generation = valueAt(projection, path('metadata.generation'))
  return {
    version: String(resource_version),
    generation: typeof generation === 'number' ? generation : 0,
    deleting: valueAt(projection, path('metadata.deletionTimestamp')) !== undefined,
    jobID: jobIDsOf(projection).jobID,
  }
}

interface WantedJob {
  readonly jobID: string
  readonly cause: string
  readonly lane: string | undefined
  /** Undefined: the job has started already, or the owner handed it down. */
  readonly asked: NewJobTarget | undefined
}

function startOf(
  wake: Wake,
  subject: Run['input']['subject'],
  { jobID, cause, lane, asked }: WantedJob,
): ResolvedWithoutOpenRun {
  const { controller } = wake
  // In level mode an object has one run for all causes.
  const isLevel = jobID === ''
  const problem = isLevel ? undefined : jobIDProblem(jobID)
  if (problem !== undefined) return nothing(problem)
  const workflowID = workflowIDOf(controller, subject, jobID)
  const input = { subject, jobID, cause: isLevel ? wake.cause : cause, ...(asked !== undefined && { asked }) }
  return { to: 'start', run: { controller, workflowID, ...(lane !== undefined && { lane }), input } }
}

/** A run in level mode may be open without a row, because a worker crashed between starting it and opening the row. */
function resolveDeletedSubject(wake: Wake, { registry }: Lookups): ResolvedWithoutOpenRun {
  const isLevel = registry.levels.some(({ name }) => name === wake.controller)
  return isLevel ? nothing('subject is gone', wake) : nothing('subject is gone')
}

/** The kinds (`groupKindText`) for which a missing object means that it was deleted, once they were listed. */
export function watchedKindKeys({ watchedKinds }: Registry): readonly string[] {
  return watchedKinds.map((kind) => groupKindText(groupKindOf(kind)))
}

// The namespace of the version 5 UUIDs of jobs; a random constant.
const JOB_NAMESPACE = Buffer.from('6f1c2a54d0b94c7e9a3be8f15d4c7a21', 'hex')

/** The ID of the job that this version of the subject triggers: a UUIDv5 of uid and resourceVersion, so that two dispatchers derive the same ID. */
export function deriveJobID({ uid, resource_version }: Pick<JournaledObject, 'uid' | 'resource_version'>): string {
  const hash = createHash('sha1').update(JOB_NAMESPACE).update(`${uid}/${resource_version}`).digest().subarray(0, 16)
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** @param meant the wake of a level-mode run that may be open without a row. */
function nothing(reason: string, meant?: Wake): ResolvedWithoutOpenRun {
  if (meant === undefined) return { to: 'nothing', reason }
  const unrecorded = workflowIDOf(meant.controller, meant, '')
  // A write never wakes the run that made it.
  const isOwn = !meant.foreign_event && meant.writer === unrecorded
  return { to: 'nothing', reason, ...(!isOwn && { unrecorded }) }
}

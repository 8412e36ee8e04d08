// Reads a job with the jobs of its children from the journal: hosted children and children with their own runs.

import type { AwaitedObject } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { groupKindOf, groupKindText, path, textAt } from '../../../workflows/kit/index.ts'
import { isRedacted } from '../../api/redaction.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { explainStatus, isInLevelMode, partitionsOf } from './explain-status.ts'
import { isBad, isBusy, isGood, jobIDIn, phaseIn, readinessIn, singleLine } from './format.ts'

export interface JobNode {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  readonly awaited: readonly AwaitedObject[]
  readonly children: readonly JobNode[]
  /** True if the object ended in an earlier job of its parent and has not started in the current one. */
  readonly isFromEarlierJob?: boolean
}

type NodeState = Pick<JobNode, 'object' | 'job' | 'isFromEarlierJob'>

const LONGEST_PHASE = 60

/** Deeper than any tree of Installations; also ends cycles of owners. */
const DEEPEST = 24

export async function readJobTree(
  journal: JournalQueries,
  object: ObjectRecord,
  job: JobRecord | undefined,
): Promise<JobNode> {
  const { jobs, below, seen } = await readBelow(journal, object, job)
  const isEnded = job !== undefined && isOver(object, job)
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = isEnded ? new Map<string, readonly AwaitedObject[]>() : await journal.awaitedByAll(controllers, seen)
  const jobless = seen.filter((uid) => !jobs.has(uid))
  const lastEvents = isEnded
    ? await journal.lastEventsIn(jobless, { jobID: job.jobID, since: job.startedAt })
    : undefined
  const nodeOf = (one: ObjectRecord, parent?: ObjectRecord): JobNode => ({
    object: lastEvents === undefined || jobs.has(one.uid) ? one : stateAtEnd(one, lastEvents.get(one.uid)),
    job: jobs.get(one.uid),
    awaited: awaited.get(one.uid) ?? [],
    // Children without jobs, such as data, are shown only if they block a deletion.
    children: (below.get(one.uid) ?? []).map((child) => nodeOf(child, one)).filter(isPart),
    ...(lastEvents === undefined &&
      // A job that removes an item does not start it.
      !one.deleted &&
      !jobs.has(one.uid) &&
      parent !== undefined &&
      endedInEarlierJob(one, parent, jobs.get(parent.uid)) && { isFromEarlierJob: true }),
  })
  return nodeOf(object)
}

/** The descendants whose jobs started during this job, each once. */
async function readBelow(journal: JournalQueries, object: ObjectRecord, job: JobRecord | undefined) {
  const time = { from: job?.startedAt ?? object.updatedAt, to: job?.finishedAt ?? null }
  const jobs = new Map<string, JobRecord>(job === undefined ? [] : [[object.uid, job]])
  const below = new Map<string, ObjectRecord[]>()
  const seen = new Set([object.uid])
  let found = await journal.childrenOf([object], time.from)
  for (let depth = 1; depth <= DEEPEST; depth++) {
    const fresh = found.filter(({ uid }) => !seen.has(uid))
    if (fresh.length === 0) break
    for (const child of fresh) {
      seen.add(child.uid)
      below.set(child.owner, [...(below.get(child.owner) ?? []), child])
    }
    // In parallel: over `pawl api` the round trip takes longer than the query.
    const [newest, next] = await Promise.all([
      journal.newestJobs(
        fresh.map(({ uid }) => uid),
        time,
      ),
      depth < DEEPEST ? journal.childrenOf(fresh, time.from) : [],
    ])
    for (const one of newest.values()) jobs.set(one.uid, one)
    found = next
  }
  return { jobs, below, seen: [...seen] }
}

/** True if the object has had another job since, so that its status belongs to that job. */
export function isOver({ projection }: Pick<ObjectRecord, 'projection'>, job: JobRecord): boolean {
  return job.outcome !== null && job.jobID !== '' && jobIDIn(projection) !== job.jobID
}

/** Timestamps of Kubernetes are whole seconds. */
const SECOND = 1000

/**
 * True if the object ended in an earlier job of its parent: an error is not the cause of the parent's state, and a
 * success is no progress of the parent's running job. An item that a user retried alone has a later job than its parent.
 *
 * @param parentJob the parent's current job, if the journal has it.
 */
export function endedInEarlierJob(
  { projection }: Pick<ObjectRecord, 'projection'>,
  parent: Pick<ObjectRecord, 'projection'>,
  parentJob?: JobRecord,
): boolean {
  const [jobID, parentJobID] = [jobIDIn(projection), parentJob?.jobID ?? jobIDIn(parent.projection)]
  const hasOwnJob = jobID !== undefined && parentJobID !== undefined && parentJobID !== '' && jobID !== parentJobID
  if (!hasOwnJob || isBusy(projection) || isRetriedLater(projection, parentJob)) return false
  const phase = phaseIn(projection)
  return isBad(phase) || (isGood(phase) && isParentOpen(parent, parentJob))
}

function isRetriedLater(projection: ObjectRecord['projection'], parentJob: JobRecord | undefined): boolean {
  const handedOut = Date.parse(textAt(projection, path('status.jobIDGenerationTime')) ?? '')
  return parentJob !== undefined && handedOut >= parentJob.startedAt.getTime() - SECOND
}

function isParentOpen({ projection }: Pick<ObjectRecord, 'projection'>, job: JobRecord | undefined): boolean {
  return job === undefined ? isBusy(projection) : job.outcome === null
}

/**
 * When the object's part of a job started; undefined if the job has not started it. For items that the run of their
 * owner handles, the status gives the time.
 *
 * @param whole the job.
 */
export function startIn(
  { object, job }: Pick<JobNode, 'object' | 'job'>,
  whole: JobRecord | undefined,
): Date | undefined {
  if (job !== undefined) return job.startedAt
  const handedOut = new Date(textAt(object.projection, path('status.jobIDGenerationTime')) ?? '')
  return whole !== undefined && handedOut.getTime() >= whole.startedAt.getTime() - SECOND ? handedOut : undefined
}

/** A child as it was at the end of an ended job, if the journal still has that version. */
export function stateAtEnd(
  child: ObjectRecord,
  lastEvents: { readonly at: Date; readonly type: string; readonly projection: ObjectRecord['projection'] } | undefined,
): ObjectRecord {
  if (lastEvents !== undefined)
    return {
      ...child,
      projection: lastEvents.projection,
      deleted: lastEvents.type === 'DELETED',
      updatedAt: lastEvents.at,
    }
  const isNeverAsked = phaseIn(child.projection) === undefined
  return { ...child, deleted: false, projection: isNeverAsked ? {} : { status: { phase: UNKNOWN_PHASE } } }
}

/** Replaces a phase that the journal no longer has. */
const UNKNOWN_PHASE = 'unknown'

/** Kinds with jobs. An item that waits for others may have no phase yet. */
const JOB_KINDS: ReadonlySet<string> = new Set(
  [...builtInRegistry.controllers.values()].flatMap(({ mode, target }) =>
    mode === 'job' ? [groupKindText(groupKindOf(target))] : [],
  ),
)

function isPart({ object, job, children }: JobNode): boolean {
  return (
    (JOB_KINDS.has(groupKindText(object)) && !object.deleted) ||
    job !== undefined ||
    children.length > 0 ||
    isRedacted(object.name) ||
    phaseIn(object.projection) !== undefined ||
    isBusy(object.projection)
  )
}

/** The phase of the job, or of the object's status if the journal has no job; `-` for the phase of an earlier job. */
export function phaseOf({ object, job, isFromEarlierJob }: NodeState): string {
  if (isFromEarlierJob === true) return '-'
  if (job?.outcome === 'Superseded' || job?.outcome === 'lost') return job.outcome
  // Phases of other deployers may be any text.
  if (job !== undefined && !isInLevelMode({ object, job }))
    return singleLine(job.phase ?? job.outcome ?? 'Started', LONGEST_PHASE)
  if (object.deleted) return 'Deleted'
  return singleLine(statusPhase(object, job), LONGEST_PHASE)
}

/** The reason of the fault of an open run, for kinds whose phase and conditions the journal does not have. */
function faultReason(job: JobRecord | undefined): string | undefined {
  const { reason } = job?.lastError ?? {}
  return job?.outcome === null && typeof reason === 'string' && reason !== '' ? reason : undefined
}

function statusPhase(object: ObjectRecord, job: JobRecord | undefined): string {
  const { projection } = object
  const phase = currentPhaseIn(object) ?? explainStatus(object, projection).phase
  return phase ?? readinessIn(projection) ?? faultReason(job) ?? '-'
}

/** Undefined while the phase is the one of the previous job, because no deployer has picked the current job up. */
function currentPhaseIn(object: ObjectRecord): string | undefined {
  const phase = phaseIn(object.projection)
  const isFinal = isBad(phase) || isGood(phase)
  return isFinal && isBusy(object.projection) && isPickedUp(object) === false ? undefined : phase
}

/** Whether a deployer has picked the current job of an item up; undefined for objects that no deployer picks up. */
export function isPickedUp(object: ObjectRecord): boolean | undefined {
  const handedOut = textAt(object.projection, path('status.jobIDGenerationTime'))
  if (handedOut === undefined || partitionsOf(object) === undefined) return undefined
  return Date.parse(textAt(object.projection, path('status.lastReconcileTime')) ?? '') >= Date.parse(handedOut)
}

export function hasFailed(node: NodeState): boolean {
  return isBad(phaseOf(node)) || isBad(node.job?.outcome ?? undefined)
}

export function isOpen({ object, job }: Pick<JobNode, 'object' | 'job'>): boolean {
  return job === undefined ? !object.deleted && isBusy(object.projection) : job.outcome === null
}

/** True if an ended job succeeded. */
export function endedWell(job: JobRecord): boolean {
  return isGood(job.outcome ?? undefined) || (job.outcome === 'Finished' && !isBad(job.phase ?? undefined))
}

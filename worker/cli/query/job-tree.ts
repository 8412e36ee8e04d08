// A job with the jobs below it, as the journal has them: those of hosted children and those of children with runs of their own.

import type { Awaited } from '../../../activities/journal/read/asked-events.ts'
import type { AskedJob, AskedObject } from '../../../activities/journal/read/asked-objects.ts'
import type { Questions } from '../../../activities/journal/read/questions.ts'
import { groupKindOf, groupKindText } from '../../../workflows/kit/index.ts'
import { isRedacted } from '../../api/redaction.ts'
import { builtIn } from '../../server/registry.ts'
import { isBad, isBusy, isGood, jobIDIn, phaseIn, singleLine } from './format.ts'

export interface JobNode {
  readonly object: AskedObject
  readonly job: AskedJob | undefined
  readonly awaited: readonly Awaited[]
  readonly children: readonly JobNode[]
}

const LONGEST_PHASE = 60

/** Deeper than any tree of Installations; rings of owners end here. */
const DEEPEST = 24

export async function readJobTree(
  journal: Questions,
  object: AskedObject,
  job: AskedJob | undefined,
): Promise<JobNode> {
  const { jobs, below, seen } = await readBelow(journal, object, job)
  const isEnded = job !== undefined && isOver(object, job)
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = isEnded ? new Map<string, readonly Awaited[]>() : await journal.awaitedByAll(controllers, seen)
  const jobless = seen.filter((uid) => !jobs.has(uid))
  const lastEvents = isEnded
    ? await journal.lastEventsIn(jobless, { jobID: job.jobID, since: job.startedAt })
    : undefined
  const nodeOf = (one: AskedObject): JobNode => ({
    object: lastEvents === undefined || jobs.has(one.uid) ? one : stateAtEnd(one, lastEvents.get(one.uid)),
    job: jobs.get(one.uid),
    awaited: awaited.get(one.uid) ?? [],
    // Children with jobs of their own are what runs; others, such as data, only where they hold a deletion up.
    children: (below.get(one.uid) ?? []).map(nodeOf).filter(isPart),
  })
  return nodeOf(object)
}

/** What lies below, and whose jobs began in the time of this one; each once. */
async function readBelow(journal: Questions, object: AskedObject, job: AskedJob | undefined) {
  const time = { from: job?.startedAt ?? object.updatedAt, to: job?.finishedAt ?? null }
  const jobs = new Map<string, AskedJob>(job === undefined ? [] : [[object.uid, job]])
  const below = new Map<string, AskedObject[]>()
  const seen = new Set([object.uid])
  let found = await journal.childrenOf([object], time.from)
  for (let depth = 1; depth <= DEEPEST; depth++) {
    const fresh = found.filter(({ uid }) => !seen.has(uid))
    if (fresh.length === 0) break
    for (const child of fresh) {
      seen.add(child.uid)
      below.set(child.owner, [...(below.get(child.owner) ?? []), child])
    }
    // At once: over `pawl api` the way takes longer than the answer.
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

/** The object has had another job since, and what it and its children say is of that. */
export function isOver({ projection }: Pick<AskedObject, 'projection'>, job: AskedJob): boolean {
  return job.outcome !== null && job.jobID !== '' && jobIDIn(projection) !== job.jobID
}

/** A child as it was at the end of a job that is over, as far as the journal has that. */
export function stateAtEnd(
  child: AskedObject,
  lastEvents: { readonly at: Date; readonly type: string; readonly projection: AskedObject['projection'] } | undefined,
): AskedObject {
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

/** In place of a phase that the journal does not have any more. */
const UNKNOWN_PHASE = 'unknown'

/** Those of which jobs are made; an item that waits for others has not even a phase. */
const JOB_KINDS: ReadonlySet<string> = new Set(
  [...builtIn.controllers.values()].flatMap(({ mode, target }) =>
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

/** Where a job stands, or its object by its status where the journal has no job. */
export function phaseOf({ object, job }: Pick<JobNode, 'object' | 'job'>): string {
  if (job?.outcome === 'Superseded' || job?.outcome === 'lost') return job.outcome
  // Deployers of others write phases as they like.
  if (job !== undefined) return singleLine(job.phase ?? job.outcome ?? 'Begun', LONGEST_PHASE)
  return object.deleted ? 'Deleted' : singleLine(phaseIn(object.projection) ?? '-', LONGEST_PHASE)
}

export function hasFailed(node: Pick<JobNode, 'object' | 'job'>): boolean {
  return isBad(phaseOf(node)) || isBad(node.job?.outcome ?? undefined)
}

export function isOpen({ object, job }: Pick<JobNode, 'object' | 'job'>): boolean {
  return job === undefined ? !object.deleted && isBusy(object.projection) : job.outcome === null
}

/** Whether a job that is over ended as it should. */
export function endedWell(job: AskedJob): boolean {
  return isGood(job.outcome ?? undefined) || (job.outcome === 'Finished' && !isBad(job.phase ?? undefined))
}

// A job with the jobs below it, as the journal has them: those of hosted children and those of children with runs of their own.

import { awaitedByAll, type Awaited } from '../../../activities/journal/read/asked-events.ts'
import {
  type AskedJob,
  type AskedObject,
  childrenOf,
  newestJobs,
} from '../../../activities/journal/read/asked-objects.ts'
import type { Reader } from '../../../activities/journal/read/reader.ts'
import { isBad, isBusy, isGood, phaseIn, shown } from './texts.ts'

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
  { db, cluster }: { readonly db: Reader; readonly cluster: string },
  object: AskedObject,
  job: AskedJob | undefined,
): Promise<JobNode> {
  const time = { from: job?.startedAt ?? object.updatedAt, to: job?.finishedAt ?? null }
  const jobs = new Map<string, AskedJob>(job === undefined ? [] : [[object.uid, job]])
  const below = new Map<string, AskedObject[]>()
  const seen = new Set([object.uid])
  let level: readonly AskedObject[] = [object]
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    const found = await childrenOf(db, { cluster, since: time.from }, level)
    const fresh = found.filter(({ uid }) => !seen.has(uid))
    const theirs = await newestJobs(
      db,
      fresh.map(({ uid }) => uid),
      time,
    )
    for (const one of theirs.values()) jobs.set(one.uid, one)
    for (const child of fresh) {
      seen.add(child.uid)
      below.set(child.owner, [...(below.get(child.owner) ?? []), child])
    }
    level = fresh
  }
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = await awaitedByAll(db, controllers, [...seen])
  const nodeOf = (one: AskedObject): JobNode => ({
    ...{ object: one, job: jobs.get(one.uid), awaited: awaited.get(one.uid) ?? [] },
    // Children with jobs of their own are what runs; others, such as data, only where they hold a deletion up.
    children: (below.get(one.uid) ?? []).map(nodeOf).filter(isPart),
  })
  return nodeOf(object)
}

function isPart({ object, job, children }: JobNode): boolean {
  return (
    job !== undefined || children.length > 0 || phaseIn(object.projection) !== undefined || isBusy(object.projection)
  )
}

/** Where a job stands, or its object by its status where the journal has no job. */
export function phaseOf({ object, job }: Pick<JobNode, 'object' | 'job'>): string {
  if (job?.outcome === 'Superseded' || job?.outcome === 'lost') return job.outcome
  // Deployers of others write phases as they like.
  if (job !== undefined) return shown(job.phase ?? job.outcome ?? 'Begun', LONGEST_PHASE)
  return object.deleted ? 'Deleted' : shown(phaseIn(object.projection) ?? '-', LONGEST_PHASE)
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

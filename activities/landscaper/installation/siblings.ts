// Orders the jobs of sub-installations of one parent: which siblings a job waits for before it reads its imports, and which must be deleted first.
// Roots: root-siblings.ts. Source: spec/landscaper.md 2.3 "Init" 3, 2.4, 2.6.
//
//   S1. A job subscribes to siblings first and then reads them from the API server (docs/concepts/architecture.md "Subjects and routes").
//   S2. Each wait ends, because it is only for siblings that have this job or get it from the parent. Importers do not wait for a sibling that is
//       being deleted. Deletions do not wait for a sibling that stays or has finished this job.
//   S3. Reading the siblings takes one statement and a few requests, however many siblings exist.

import { ENCOMPASSED_BY_LABEL } from '../../../workflows/landscaper/contract.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { shortList } from '../../../workflows/landscaper/short-list.ts'
import type { LandscaperDeps } from '../deps.ts'
import { listFromServer, readObject, readSubject } from '../../kube/read-family.ts'
import { PARALLEL_READS } from '../data-objects.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { importedNames, isSuccessor } from '../../../workflows/landscaper/data-flow.ts'
import { readSubInstallations } from './observe.ts'
import { parentOf } from './parent.ts'
import { rootPredecessorsOf, rootSuccessorsOf } from './root-siblings.ts'
import { type BlockingSiblings, isDeleting, isCreating, type WaitingJob, subscribeToSiblings } from './sibling-waits.ts'

const NO_SIBLINGS: BlockingSiblings = { unfinished: [], failed: [] }

/** The siblings from which this one imports, and that have not succeeded in this job. */
export async function predecessorsOf(
  deps: LandscaperDeps,
  job: WaitingJob,
  installation: Installation,
): Promise<BlockingSiblings> {
  // An Installation without imports need not read hundreds of siblings.
  const isAlone = importedNames(installation.spec).length === 0
  if (isAlone || installation.spec.optimization?.hasNoSiblingImports === true) return NO_SIBLINGS
  if (parentOf(installation) === undefined) return await rootPredecessorsOf(deps, job, installation)
  const { jobID } = job
  const siblings = await siblingsOf(deps, job, installation)
  const predecessors = siblings.filter((one) => isSuccessor(installation.spec, one.spec))
  const isOver = (one: Installation) => hasEnded(one, jobID) || isDeletedInstead(one, jobID)
  const current = await subscribeAndRead(deps, job, predecessors, isOver)
  const unfinished = current.filter((one) => !isOver(one))
  const withoutJob = unfinished.filter(({ status }) => status?.jobID !== jobID)
  const withoutParent = withoutJob.length > 0 && (await hasNoParent(deps, job, installation)) ? withoutJob : []
  const failed = current.filter((one) => isOver(one) && !(hasEnded(one, jobID) && one.status?.phase === 'Succeeded'))
  return {
    unfinished: shortList(
      unfinished.filter((one) => !withoutParent.includes(one)).map(({ metadata }) => metadata.name),
    ),
    failed: shortList([...failed, ...withoutParent].map((one) => describeState(one, jobID))),
  }
}

/** The siblings that are being deleted and import from this one. */
export async function successorsOf(
  deps: LandscaperDeps,
  job: WaitingJob,
  installation: Installation,
): Promise<BlockingSiblings> {
  if (parentOf(installation) === undefined) return await rootSuccessorsOf(deps, job, installation)
  const { jobID } = job
  const siblings = await siblingsOf(deps, job, installation)
  const successors = siblings.filter((one) => isDeleting(one) && isSuccessor(one.spec, installation.spec))
  const current = await subscribeAndRead(deps, job, successors, (one) => hasEnded(one, jobID))
  const unfinished = current.filter((one) => !hasEnded(one, jobID))
  const failed = current.filter((one) => hasEnded(one, jobID) && one.status?.phase === 'DeleteFailed')
  // Without a parent each sibling has its own job, or has failed: their order does not matter.
  if (unfinished.length > 0 && (await hasNoParent(deps, job, installation))) return NO_SIBLINGS
  return {
    unfinished: shortList(unfinished.map(({ metadata }) => metadata.name)),
    failed: shortList(failed.map((one) => describeState(one, jobID))),
  }
}

function hasEnded({ status }: Installation, jobID: string): boolean {
  return status?.jobIDFinished === jobID
}

/** The sibling is being deleted and had not started to create anything in this job: it uninstalls, now or in a later job. */
function isDeletedInstead(one: Installation, jobID: string): boolean {
  return isDeleting(one) && !(one.status?.jobID === jobID && isCreating(one))
}

function describeState(one: Installation, jobID: string): string {
  const { name } = one.metadata
  if (hasEnded(one, jobID)) return `${name} is ${one.status?.phase ?? ''}`
  return isDeleting(one) ? `${name} is being deleted` : `${name} has no job, and its parent is gone`
}

async function siblingsOf(
  deps: LandscaperDeps,
  { by }: WaitingJob,
  { metadata }: Installation,
): Promise<readonly Installation[]> {
  const { namespace, uid } = metadata
  const parent = parentOf({ metadata })
  if (parent === undefined) return []
  const all = await readSubInstallations(deps, by, { ...parent, namespace })
  return all.filter((one) => one.metadata.uid !== uid)
}

/** No parent starts its jobs any more. The parent's end wakes it (workflows/landscaper/installation/routes.ts). */
async function hasNoParent(deps: LandscaperDeps, { by }: WaitingJob, { metadata }: Installation): Promise<boolean> {
  const { namespace } = metadata
  const parent = parentOf({ metadata })
  if (parent === undefined) return true
  return (await readSubject(deps, installationKind, { ...parent, namespace }, by)) === undefined
}

/** Subscribes to siblings for which `isOver` is false, and reads them again (S1); leaves out deleted ones. */
async function subscribeAndRead(
  deps: LandscaperDeps,
  job: WaitingJob,
  siblings: readonly Installation[],
  isOver: (one: Installation) => boolean,
): Promise<readonly Installation[]> {
  const unfinished = siblings.filter((one) => !isOver(one))
  if (unfinished.length === 0) return siblings
  await subscribeToSiblings(
    deps,
    job,
    unfinished.map(({ metadata }) => metadata.name),
  )
  const current = await readCurrent(deps, unfinished)
  return siblings.flatMap((one) => (isOver(one) ? [one] : (current.get(one.metadata.uid) ?? [])))
}

// Up to this number, GETs cost the server less than a list.
const MAX_READS = 5

/** The current siblings on the server, by uid. */
async function readCurrent(
  deps: LandscaperDeps,
  siblings: readonly Installation[],
): Promise<ReadonlyMap<string, Installation>> {
  const listed = siblings.length > MAX_READS ? await listSiblings(deps, siblings) : new Map<string, Installation>()
  // A list by label misses siblings whose label a user has removed.
  const unlisted = siblings.filter(({ metadata }) => !listed.has(metadata.uid))
  const read = await inParallel(unlisted, PARALLEL_READS, async ({ metadata: { namespace, name, uid } }) => {
    const current = await readObject(deps, installationKind, namespace, name)
    return current?.metadata.uid === uid ? [current] : []
  })
  return new Map([...listed, ...read.flat().map((one) => [one.metadata.uid, one] as const)])
}

async function listSiblings(
  deps: LandscaperDeps,
  [first]: readonly Installation[],
): Promise<Map<string, Installation>> {
  const parent = first && parentOf(first)
  if (first === undefined || parent === undefined) return new Map()
  const labelSelector = `${ENCOMPASSED_BY_LABEL}=${parent.name}`
  const found = await listFromServer(deps, installationKind, first.metadata.namespace, labelSelector)
  return new Map(found.map((one) => [one.metadata.uid, one]))
}

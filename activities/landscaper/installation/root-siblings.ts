// Orders the jobs of roots in a namespace: which roots a job waits for, which must be deleted first, and which its end starts. Source:
// spec/landscaper.md 2.2 trigger 5, 2.3 "Init" 3, 2.4, 2.6.
//
//   R1. The journal finds the other roots by the names of exports and imports, so no list is read, however many roots the namespace has.
//   R2. A job subscribes to the roots in its way first, and then reads each once from the API server. A later change is a wake.
//   R3. Each wait ends: no job waits for a root that is deleted instead, or that waits, directly or indirectly, for this root.

import {
  type Installation,
  installationKind,
  installationTrigger,
} from '../../../workflows/landscaper/installation/kind.ts'
import { exportedNames, importedNames, isSuccessor, shortestCycle } from '../../../workflows/landscaper/data-flow.ts'
import { shortList } from '../../../workflows/landscaper/short-list.ts'
import { type Flow, groupKindOf, isIdle, jobIDsOf, path, textAt } from '../../../workflows/kit/index.ts'
import {
  flowOfProjection,
  flowKeys,
  type FlowObject,
  producersOf,
  consumersOf,
  upstreamProducersOf,
} from '../../journal/flow.ts'
import { finalFailure } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { readObject } from '../../kube/read-family.ts'
import { PARALLEL_READS } from '../data-objects.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type BlockingSiblings, isDeleting, isCreating, type WaitingJob, subscribeToSiblings } from './sibling-waits.ts'

/**
 * The roots from which this one imports, and that have not succeeded or still have to run a job.
 *
 * @throws `ImportRing` (final) with its path, when the root indirectly imports its own exports.
 */
export async function rootPredecessorsOf(
  deps: LandscaperDeps,
  job: WaitingJob,
  installation: Installation,
): Promise<BlockingSiblings> {
  const own = flowOf(installation)
  const query = queryFor(deps, installation, own.takes)
  // A root without exports is in no cycle.
  const upstream =
    own.gives.length === 0 ? await producersOf(deps.db, query) : await upstreamProducersOf(deps.db, query)
  checkCycle(installation, own, upstream)
  const predecessors = upstream.filter(({ projection }) => exportsTo(own, projection))
  const unfinished = predecessors.filter(({ projection }) => stateOf(projection) !== 'succeeded')
  const current = await subscribeAndRead(deps, job, unfinished, (one) => isSuccessor(installation.spec, one.spec))
  const having = (standing: RootState) => current.filter(({ state }) => stateOf(state) === standing)
  return {
    unfinished: shortList(having('unfinished').map(({ name }) => name)),
    failed: shortList(having('failed').map(({ name, state }) => `${name} ${describeState(state)}`)),
  }
}

/** The existing roots that import from this one. Roots in a cycle with it that are being deleted, too, are left out: their order does not matter. */
export async function rootSuccessorsOf(
  deps: LandscaperDeps,
  job: WaitingJob,
  installation: Installation,
): Promise<BlockingSiblings> {
  const own = flowOf(installation)
  const takers = await consumersOf(deps.db, queryFor(deps, installation, own.gives))
  const isInRing = await cycleMembers(deps, installation, own, takers)
  const unfinished = takers.filter((one) => !(isDeleting(one.projection) && isInRing(one)))
  const current = await subscribeAndRead(deps, job, unfinished, (one) => isSuccessor(one.spec, installation.spec))
  const left = current.filter(({ uid, state }) => !(isDeleting(state) && isInRing({ uid })))
  const shown = ({ name, state }: CurrentRoot) => (phaseOf(state) === 'DeleteFailed' ? `${name} (DeleteFailed)` : name)
  return { unfinished: shortList(left.map(shown)), failed: [] }
}

/** The roots that import from this one according to the journal, except those that are being deleted. */
export async function dependentsOf(deps: LandscaperDeps, installation: Installation): Promise<readonly FlowObject[]> {
  const takers = await consumersOf(deps.db, queryFor(deps, installation, flowOf(installation).gives))
  return takers.filter(({ projection }) => !isDeleting(projection))
}

/** The keys of a root's exports and imports. */
function flowOf({ metadata: { namespace }, spec }: Installation): Flow {
  return { gives: flowKeys(namespace, exportedNames(spec)), takes: flowKeys(namespace, importedNames(spec)) }
}

function queryFor(
  { cluster }: LandscaperDeps,
  { metadata: { namespace, uid } }: Installation,
  keys: readonly string[],
) {
  return { cluster, ...groupKindOf(installationKind), namespace, uid, keys }
}

function exportsTo({ takes }: Flow, projection: object): boolean {
  const given = new Set(flowOfProjection(projection).gives)
  return takes.some((key) => given.has(key))
}

/** Implements R3. */
function checkCycle({ metadata: { name } }: Installation, own: Flow, upstream: readonly FlowObject[]): void {
  if (own.gives.length === 0 || upstream.length === 0) return
  const all = [
    { name, flow: own },
    ...upstream.map((one) => ({ name: one.name, flow: flowOfProjection(one.projection) })),
  ]
  const givers = new Map<string, string[]>()
  for (const { name: giver, flow } of all)
    for (const key of flow.gives) givers.set(key, [...(givers.get(key) ?? []), giver])
  const graph = all.map(({ name: taker, flow }) => ({
    name: taker,
    // A root does not wait for its own exports.
    dependsOn: [...new Set(flow.takes.flatMap((key) => givers.get(key) ?? []))].filter((giver) => giver !== taker),
  }))
  const ring = shortestCycle(name, graph)
  if (ring === undefined) return
  const path = shortList(ring).join(' -> ')
  throw finalFailure('ImportRing', `installations import from each other: ${path}; remove one of these imports`)
}

/** Whether a root imports from this one, and this one directly or indirectly imports from it. */
async function cycleMembers(
  deps: LandscaperDeps,
  installation: Installation,
  { takes }: Flow,
  takers: readonly FlowObject[],
): Promise<(one: Pick<FlowObject, 'uid'>) => boolean> {
  if (!takers.some(({ projection }) => isDeleting(projection))) return () => false
  const upstream = await upstreamProducersOf(deps.db, queryFor(deps, installation, takes))
  const uids = new Set(upstream.map(({ uid }) => uid))
  return ({ uid }) => uids.has(uid)
}

type RootState = 'succeeded' | 'unfinished' | 'failed'

/** The state of a root for its importers. Accepts objects and projections. */
function stateOf(root: object): RootState {
  const isOver = isIdle(jobIDsOf(root))
  // A root that is being deleted waits for its importers, so they must not wait for it.
  if (isDeleting(root) && (isOver || !isCreating(root))) return 'failed'
  if (!isOver || installationTrigger(root) !== undefined) return 'unfinished'
  return phaseOf(root) === 'Succeeded' ? 'succeeded' : 'failed'
}

function describeState(root: object): string {
  if (isDeleting(root)) return 'is being deleted'
  const phase = phaseOf(root)
  return phase === undefined ? 'has never run' : `is ${phase}`
}

function phaseOf(root: object): string | undefined {
  return textAt(root, path('status.phase'))
}

interface CurrentRoot {
  readonly uid: string
  readonly name: string
  /** The object, or its projection in the journal. */
  readonly state: object
}

/** Implements R2; leaves out roots that were deleted or replaced meanwhile. */
async function subscribeAndRead(
  deps: LandscaperDeps,
  job: WaitingJob,
  roots: readonly FlowObject[],
  isMeant: (one: Installation) => boolean,
): Promise<readonly CurrentRoot[]> {
  const added = await subscribeToSiblings(
    deps,
    job,
    roots.map(({ name }) => name),
  )
  const { namespace } = job.subject
  const looked = await inParallel(roots, PARALLEL_READS, async ({ uid, name, projection }): Promise<CurrentRoot[]> => {
    if (!added.has(name)) return [{ uid, name, state: projection }]
    const current = await readObject(deps, installationKind, namespace, name)
    return current?.metadata.uid === uid && isMeant(current) ? [{ uid, name, state: current }] : []
  })
  return looked.flat()
}

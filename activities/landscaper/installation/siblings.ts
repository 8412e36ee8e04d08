// The sub-installations beside one: whom it waits for before it reads its imports, and who has to go before it does.
// Source: spec/landscaper.md 2.3 "Init" 3, 2.4, 2.6.
//
//   S1. Whoever waits subscribes first and looks then, at the API server (docs/architecture.md "Subjects and routes").

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { readObject } from '../../kube/read-family.ts'
import { PARALLEL_READS } from '../data-objects.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { isSuccessor } from '../render/data-flow.ts'
import { readSubInstallations } from './observe.ts'
import { parentOf } from './parent.ts'

/** Whose job looks. */
export interface Onlooker {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/** Siblings that are in the way, by their names. */
export interface InTheWay {
  /** Their end will wake the job. */
  readonly unfinished: readonly string[]
  /** With their phases. */
  readonly failed: readonly string[]
}

/** Those whose exports are imported, and that have not succeeded in this job. */
export async function predecessorsOf(
  deps: LandscaperDeps,
  onlooker: Onlooker,
  installation: Installation,
): Promise<InTheWay> {
  if (installation.spec.optimization?.hasNoSiblingImports === true) return NOBODY
  const siblings = await siblingsOf(deps, onlooker, installation)
  const predecessors = siblings.filter((one) => isSuccessor(installation.spec, one.spec))
  const isFinished = (one: Installation) => one.status?.jobIDFinished === onlooker.jobID
  const now = await lookedAt(deps, onlooker, predecessors, isFinished)
  const names = (some: readonly Installation[]) => some.map(({ metadata }) => metadata.name)
  return {
    unfinished: names(now.filter((one) => !isFinished(one))),
    failed: now.flatMap((one) =>
      isFinished(one) && one.status?.phase !== 'Succeeded'
        ? [`${one.metadata.name} is ${one.status?.phase ?? ''}`]
        : [],
    ),
  }
}

/** Those that import what this one exports, and are there still. */
export async function successorsOf(
  deps: LandscaperDeps,
  onlooker: Onlooker,
  installation: Installation,
): Promise<InTheWay> {
  const siblings = await siblingsOf(deps, onlooker, installation)
  const successors = siblings.filter((one) => isSuccessor(one.spec, installation.spec))
  const hasFailed = (one: Installation) =>
    one.status?.jobIDFinished === onlooker.jobID && one.status.phase === 'DeleteFailed'
  const now = await lookedAt(deps, onlooker, successors, hasFailed)
  const failed = now.filter(hasFailed)
  return {
    unfinished: now.filter((one) => !failed.includes(one)).map(({ metadata }) => metadata.name),
    failed: failed.map(({ metadata }) => `${metadata.name} is DeleteFailed`),
  }
}

const NOBODY: InTheWay = { unfinished: [], failed: [] }

async function siblingsOf(
  deps: LandscaperDeps,
  { by }: Onlooker,
  { metadata }: Installation,
): Promise<readonly Installation[]> {
  const { namespace, uid } = metadata
  const parent = parentOf({ metadata })
  if (parent === undefined) return []
  const all = await readSubInstallations(deps, by, { ...parent, namespace })
  return all.filter((one) => one.metadata.uid !== uid)
}

/** Those that are not what is waited for are waited for, and looked at again (S1); one that has gone meanwhile is left out. */
async function lookedAt(
  deps: LandscaperDeps,
  { subject, jobID }: Onlooker,
  siblings: readonly Installation[],
  isOver: (one: Installation) => boolean,
): Promise<readonly Installation[]> {
  const { group, kind } = installationKind
  const looked = await inParallel(siblings, PARALLEL_READS, async (one) => {
    if (isOver(one)) return [one]
    const { namespace, name, uid } = one.metadata
    const at = { cluster: deps.cluster, group, kind, namespace, name }
    await subscribe(deps.db, { ...at, controller: 'installation', uid: subject.uid, job_id: jobID }, deps.now())
    const now = await readObject(deps, installationKind, namespace, name)
    return now?.metadata.uid === uid ? [now] : []
  })
  return looked.flat()
}

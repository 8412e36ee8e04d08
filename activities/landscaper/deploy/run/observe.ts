// What a pass of a deploy group sees. The subject is the Execution, or an item that has none.

import { BUILT_IN_TYPES } from '../../../../workflows/landscaper/deploy-item/deployers.gen.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { type By, isIdle, type Subject } from '../../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { type KnownVersions, newestKnown, readFamily, readSubject } from '../../../kube/read-family.ts'
import { declaredChildren, newsOf, observed } from '../../../run/observe.ts'
import { targetView } from '../../../kube/views.ts'
import { deployItemView } from '../../deploy-item-view.ts'
import { remainingMs } from './item-status.ts'
import type { DeployGroupObservation } from './views.ts'

export interface ObserveGroupInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** Of the items. */
  readonly known: KnownVersions
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /**
   * Reads the items of a group, and whether its job is over.
   *
   * @returns the difference to the items that the run knows.
   * @throws retryable failures of the API server and the journal.
   */
  async observeDeployGroup({ by, subject, jobID, known }: ObserveGroupInput): Promise<DeployGroupObservation> {
    const reading =
      subject.kind === 'Execution'
        ? readGroup(deps, { by, subject }, jobID, newestKnown(known))
        : readSingle(deps, subject, jobID)
    const { items, isOver } = await observed(deps, by, reading)
    // What runs and has a time-out is another thing at any later time.
    const isTimed = (item: DeployItem) =>
      targetView(item).jobIDFinished !== jobID && remainingMs(item, deps.now()) !== undefined
    const { changed, gone } = newsOf(items, known, isTimed)
    return { changed: changed.map((item) => deployItemView(item, deps)), gone, isOver }
  },
})

/** Whose run asks for the items of which Execution. */
interface Group {
  readonly by: By
  readonly subject: Subject
}

async function readGroup(deps: LandscaperDeps, group: Group, jobID: string, ownVersion: number) {
  const { subject: execution, children } = await readGroupFamily(deps, group, ownVersion)
  const target = execution === undefined ? undefined : targetView(execution)
  const all = builtIn(children)
  const items = all.filter((item) => targetView(item).jobID === jobID)
  const isReplaced = target === undefined || target.jobID !== jobID || target.jobIDFinished === jobID
  // All items are there before the first is triggered, so a group whose items all have the job waits for no further one.
  return { items, isOver: isReplaced || items.length === all.length }
}

async function readSingle(deps: LandscaperDeps, subject: Subject, jobID: string) {
  const item = await readSubject(deps, deployItemKind, subject)
  if (item === undefined) return { items: [], isOver: true }
  const { jobID: current, deleting, jobIDFinished } = targetView(item)
  const isOurs = current === jobID
  // An item that is being deleted and has no owner left starts its own job: see beginItem.
  const isUnclaimed = deleting && isIdle({ jobID: current, jobIDFinished }) && jobIDFinished !== jobID
  return { items: isOurs || isUnclaimed ? [item] : [], isOver: isOurs ? jobIDFinished === jobID : !isUnclaimed }
}

/** The built-in items of an Execution, bodies included. */
export async function listGroupObjects(
  deps: LandscaperDeps,
  group: Group,
  ownVersion: number,
): Promise<readonly DeployItem[]> {
  return builtIn((await readGroupFamily(deps, group, ownVersion)).children)
}

async function readGroupFamily(deps: LandscaperDeps, { by, subject }: Group, ownVersion: number) {
  const items = declaredChildren(deps, { by, subject, state: 'deployItems', watched: deployItemKind, ownVersion })
  return await readFamily(deps, executionKind, subject, items)
}

function builtIn(items: readonly DeployItem[]): readonly DeployItem[] {
  return items
    .filter((item) => BUILT_IN_TYPES.has(item.spec.type))
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
}

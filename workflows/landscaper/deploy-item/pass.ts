// Types and functions of passes that deploy items, in addition to controller.gen.ts. An item is hosted if the run of
// its Execution deploys it; other items have a run of their own, which is one Workflow Execution of Temporal.

import type { Activities } from '../../../activities/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { By, JobInput, ShownJob, StepPass, Subject, BackgroundActivities } from '../../kit/index.ts'
import type { DeployItemObservation } from './controller.gen.ts'
import { isTypeHandled } from './handled-types.ts'

/** The state of a pass that deploys items. */
export interface DeployState {
  readonly deployItems: readonly DeployItemView[]
}

/** A pass that deploys items: of the Execution that hosts them, or of one item with its own run. */
export interface DeployPass<State extends DeployState> {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly act: DeployActivities
  readonly background: BackgroundActivities<State>
  state: State
}

/**
 * The state of an item's own run. `target`: the item as the pass read it, or as its steps wrote it at the begin of the
 * job; not a Landscaper Target. `deployItems`: the newest version of the item; empty after its deletion.
 */
export interface ItemState extends DeployItemObservation, DeployState {}

export function itemState(item: DeployItemView): ItemState {
  return { target: item, deployItems: [item] }
}

/** The job fields of the item's status, for the result of the run; undefined when the item is deleted. */
export function shownItem({ deployItems: [item] }: DeployState): ShownJob | undefined {
  if (item === undefined) return undefined
  const { jobID, jobIDFinished, phase, reason = 'Unknown', error: message } = item
  return { jobID, jobIDFinished, phase, lastError: message === undefined ? undefined : { reason, message } }
}

/** The activities of deployers that work on other clusters, item by item; each call may take minutes. */
export type ItemActivities = Pick<Activities, 'applyItem' | 'awaitItem' | 'uninstallItem'>

/** `sendItems` makes the first attempt of several items in one call. */
export interface DeployActivities extends Pick<Activities, 'deployMockItems' | 'sendItems'> {
  /** The activities for one item; Temporal's UI shows them with the item's name. */
  forItem(item: string): ItemActivities
}

export type ItemRunActivities = DeployActivities &
  Pick<Activities, 'observeDeployItem' | 'beginJob' | 'guardSubject' | 'forgetRetry'>

export type ItemPass = StepPass<ItemState, ItemRunActivities>

/** The fields of a pass that decide which items the pass deploys. */
type JobOfPass = Pick<DeployPass<DeployState>, 'by' | 'jobID'>

/** Whether the run deploys items of this type; `by` has the types that the run's input names (`serves`). */
export function isHandled({ type }: Pick<DeployItemView, 'type'>, { by }: Pick<JobOfPass, 'by'>): boolean {
  return isTypeHandled(type, by)
}

/** Whether the item has the pass's job, the run deploys it, and it has not finished. */
export function isUnfinished(item: DeployItemView, { by, jobID }: JobOfPass): boolean {
  return isHandled(item, { by }) && item.jobID === jobID && item.jobIDFinished !== jobID
}

/** The highest resourceVersion among the items, as a lower bound for reads; 0 without items, which is no bound. */
export function newestVersion(items: readonly DeployItemView[]): number {
  return items.reduce((version, item) => Math.max(version, Number(item.version)), 0)
}

/**
 * Reads the item. If a background activity has returned a newer version meanwhile, the result has that version.
 *
 * @param latest returns the state that the run knows; its empty `deployItems` mean that the item is deleted.
 * @returns undefined when the item is deleted.
 */
export async function observeItem(
  act: Pick<ItemRunActivities, 'observeDeployItem'>,
  { subject }: JobInput,
  by: By,
  latest: () => ItemState | undefined,
): Promise<ItemState | undefined> {
  const found = await act.observeDeployItem({ by, subject })
  const known = latest()
  if (found === undefined || known?.deployItems.length === 0) return undefined
  const [item = found] = known?.deployItems ?? []
  return itemState(Number(item.version) > Number(found.version) ? item : found)
}

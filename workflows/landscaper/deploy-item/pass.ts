// What controller.cm cannot say of items: what deploys them in whatever run they are, and what the run of one that nobody hosts remembers.

import type { Activities } from '../../../activities/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { By, ShownJob, StepPass, Subject, BackgroundActivities } from '../../kit/index.ts'
import type { DeployItemObservation } from './controller.gen.ts'
import { isTypeServed } from './served-types.ts'

/** What a pass that deploys items knows of them. */
export interface DeployState {
  readonly deployItems: readonly DeployItemView[]
}

/** A pass that deploys items: of their Execution, which hosts them, or of one on its own. */
export interface DeployPass<State extends DeployState> {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly act: DeployActivities
  readonly background: BackgroundActivities<State>
  state: State
}

/** `target`: the item as the pass has found it, or as it was begun. `deployItems`: as it was left by what deploys it; empty when it is gone. */
export interface ItemState extends DeployItemObservation, DeployState {}

export function itemState(item: DeployItemView): ItemState {
  return { target: item, deployItems: [item] }
}

/** What the item says of its job; undefined when it is gone. */
export function shownItem({ deployItems: [item] }: DeployState): ShownJob | undefined {
  if (item === undefined) return undefined
  const { jobID, jobIDFinished, phase, reason = 'Unknown', error: message } = item
  return { jobID, jobIDFinished, phase, lastError: message === undefined ? undefined : { reason, message } }
}

/** What the deployers of other clusters do, item by item; each call may take long. */
export type ItemActivities = Pick<Activities, 'applyItem' | 'awaitItem' | 'uninstallItem'>

export interface DeployActivities extends Pick<Activities, 'deployMockItems' | 'sendItems'> {
  /** The calls for one item, under its name in Temporal's UI. */
  forItem(item: string): ItemActivities
}

export type ItemRunActivities = DeployActivities &
  Pick<Activities, 'observeDeployItem' | 'beginJob' | 'guardSubject' | 'forgetRetry'>

export type ItemPass = StepPass<ItemState, ItemRunActivities>

/** What a pass has to say to know which items are its own to deploy. */
type Deploying = Pick<DeployPass<DeployState>, 'by' | 'jobID'>

/** Whether items of this type are deployed by the run. */
export function isServed({ type }: Pick<DeployItemView, 'type'>, { by }: Pick<Deploying, 'by'>): boolean {
  return isTypeServed(type, by)
}

/** Whether the item has the pass's job, is the run's to do, and has not finished it. */
export function isUnfinished(item: DeployItemView, { by, jobID }: Deploying): boolean {
  return isServed(item, { by }) && item.jobID === jobID && item.jobIDFinished !== jobID
}

/** The newest version among the items, for reads that must not be older. */
export function newestVersion(items: readonly DeployItemView[]): number {
  return items.reduce((version, item) => Math.max(version, Number(item.version)), 0)
}

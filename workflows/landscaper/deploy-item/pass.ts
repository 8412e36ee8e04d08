// What controller.cm cannot say of the deploy group: its activities, and what a run remembers of its job.

import type { Activities } from '../../../activities/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { By, GroupPass, Subject, Tracks } from '../../kit/index.ts'
import type { DeployGroupObservation } from './controller.gen.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'

/** What a pass that deploys items knows of them. */
export interface DeployState {
  readonly deployItems: readonly DeployItemView[]
}

/** A pass that deploys items: of their Execution, which hosts them, or of items on their own. */
export interface DeployPass<State extends DeployState> {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly act: DeployActivities
  readonly tracks: Tracks<State>
  state: State
}

export interface DeployGroupState extends DeployGroupObservation {
  readonly isOver: boolean
}

/** What the deployers of other clusters do, item by item; each call may take long. */
export type ItemActivities = Pick<Activities, 'applyItem' | 'awaitItem' | 'uninstallItem'>

export interface DeployActivities extends Pick<Activities, 'deployMockItems' | 'sendItems'> {
  /** The calls for one item, under its name in Temporal's UI. */
  forItem(item: string): ItemActivities
}

export type DeployGroupActivities = DeployActivities & Pick<Activities, 'observeDeployGroup' | 'beginJob'>

export type DeployGroupPass = GroupPass<DeployGroupState, DeployGroupActivities>

/** Whether the type of items is deployed here. */
export function isServed({ type }: Pick<DeployItemView, 'type'>): boolean {
  return BUILT_IN_TYPES.has(type)
}

/** Whether the item has this job, is ours to do, and has not finished it. A foreign item gets at most its job ID from here (beginItem). */
export function isUnfinished(item: DeployItemView, jobID: string): boolean {
  return isServed(item) && item.jobID === jobID && item.jobIDFinished !== jobID
}

/** The newest version among the items, for reads that must not be older. */
export function newestVersion(items: readonly DeployItemView[]): number {
  return items.reduce((version, item) => Math.max(version, Number(item.version)), 0)
}

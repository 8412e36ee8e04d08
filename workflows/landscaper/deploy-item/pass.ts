// What controller.cm cannot say of the deploy group: its activities, and what a run remembers of its job.

import type { Activities } from '../../../activities/index.ts'
import type { GroupItem } from '../../../activities/landscaper/deploy/run/views.ts'
import type { GroupPass } from '../../kit/index.ts'
import type { DeployGroupObservation } from './controller.gen.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'

export interface DeployGroupState extends DeployGroupObservation {
  readonly isOver: boolean
}

/** What the deployers of other clusters do, item by item; each call may take long. */
export type ItemActivities = Pick<Activities, 'applyItem' | 'awaitItem' | 'uninstallItem'>

export interface DeployGroupActivities extends Pick<
  Activities,
  'observeDeployGroup' | 'deployMockItems' | 'sendItems' | 'beginJob'
> {
  /** The calls for one item, under its name in Temporal's UI. */
  forItem(item: string): ItemActivities
}

export type DeployGroupPass = GroupPass<DeployGroupState, DeployGroupActivities>

/** Whether the item has this job, is ours to do, and has not finished it. A foreign item gets at most its job ID from here (beginItem). */
export function isUnfinished(item: GroupItem, jobID: string): boolean {
  return BUILT_IN_TYPES.has(item.type) && item.jobID === jobID && item.jobIDFinished !== jobID
}

/** The newest version among the items, for reads that must not be older. */
export function newestVersion(items: readonly GroupItem[]): number {
  return items.reduce((version, item) => Math.max(version, Number(item.version)), 0)
}

// What the deploy group's workflow sees: the items of one execution and job that Pawl itself deploys. Configurations stay here.

import type { DeployItemView } from '../../deploy-item-view.ts'

export interface DeployGroupObservation {
  /** Items of built-in types that have the group's job ID, finished or not, unless the run knows them as they are. */
  readonly changed: readonly DeployItemView[]
  /** uids of known items that are there no more, or have another job. */
  readonly gone: readonly string[]
  /** Nothing more can come: every item has the job, or the execution's job is finished, replaced or gone. */
  readonly isOver: boolean
}

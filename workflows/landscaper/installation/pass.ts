// What controller.cm cannot say of the Installation's controller: its activities, and what a run remembers of itself.

import type { Activities } from '../../../activities/index.ts'
import type { JobPass } from '../../kit/index.ts'
import type { InstallationObservation } from './controller.gen.ts'

export interface InstallationState extends InstallationObservation {
  /** This run has taken the request off the object; one that is there now is the next job's. */
  readonly isAdopted: boolean
  /** This run has rendered no items and made no Execution. */
  readonly isEmpty: boolean
}

export type InstallationActivities = Pick<
  Activities,
  | 'observeInstallation'
  | 'beginJob'
  | 'adoptInstallation'
  | 'guardSubject'
  | 'applyExecution'
  | 'triggerExecution'
  | 'deleteExecution'
  | 'interruptInstallation'
  | 'writeExports'
>

export type InstallationPass = JobPass<InstallationState, InstallationActivities>

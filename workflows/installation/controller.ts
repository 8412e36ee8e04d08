// What the Installation's controller observes and what it can do. By hand until the DSL generates it (design.md "Layout").

import type { Activities } from '../../activities/index.ts'
import type { ChildExecution, InstallationView } from '../../activities/installation/views.ts'
import type { JobPass } from '../kit/index.ts'

export interface InstallationState {
  readonly target: InstallationView
  readonly execution: ChildExecution | undefined
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

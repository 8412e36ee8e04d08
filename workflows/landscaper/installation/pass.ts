// What controller.cm cannot say of the Installation's controller: its activities, and what a run remembers of itself.

import type { Activities } from '../../../activities/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { WantedSub } from '../../../activities/landscaper/installation/apply-sub-installations.ts'
import type { ChildExecution } from '../../../activities/landscaper/installation/views.ts'
import type { HostedProgress, JobPass } from '../../kit/index.ts'
import type { ExecutionState } from '../execution/pass.ts'
import type { InstallationObservation } from './controller.gen.ts'

export interface InstallationState extends InstallationObservation {
  /** Of the Execution. */
  readonly deployItems: readonly DeployItemView[]
  /** What the first pass of the run came to before its first phase; undefined in others, and where the job had begun. */
  readonly start?: 'begun' | 'superseded' | undefined
  /** This run has taken the request off the object; one that is there now is the next job's. */
  readonly isAdopted: boolean
  /** The sub-installations of the templates that this run has rendered; undefined: none rendered yet, and the status names them. */
  readonly wantedSubs?: readonly WantedSub[] | undefined
}

/** What the pass of a hosted Execution came to. */
export type ExecutionProgress = HostedProgress<ExecutionState>

export type InstallationActivities = WritingActivities & {
  /** Runs a pass over the Execution in that of the Installation. */
  runExecution(
    pass: Pick<InstallationPass, 'by' | 'jobID' | 'subject' | 'hosted'>,
    state: ExecutionState & { readonly target: ChildExecution },
  ): Promise<ExecutionProgress>
  /** Of the Execution, as the run knows them now: work goes on beside the passes. */
  itemsOfExecution(): readonly DeployItemView[]
}

type WritingActivities = Pick<
  Activities,
  | 'observeInstallation'
  | 'startInstallation'
  | 'adoptInstallation'
  | 'guardSubject'
  | 'forgetInterrupt'
  | 'applyChildren'
  | 'deleteExecution'
  | 'triggerSubInstallations'
  | 'interruptSubInstallations'
  | 'holdSubInstallations'
  | 'tellPause'
  | 'deleteSubInstallations'
  | 'lookForSuccessors'
  | 'triggerDependents'
  | 'askLeftDependents'
  | 'interruptInstallation'
  | 'writeExports'
>

export type InstallationPass = JobPass<InstallationState, InstallationActivities>

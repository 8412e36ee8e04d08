// The job controller of Executions, for their own runs and for jobs hosted in the run of an Installation.

import type { JobController } from '../../kit/index.ts'
import { shortActivities } from '../../kit/run/loop/index.ts'
import type { DeployActivities } from '../deploy-item/pass.ts'
import { deployActivities } from '../deploy-item/jobs.ts'
import { beginExecution, resumeExecution } from './begin-execution.ts'
import type { ExecutionActivities, ExecutionState } from './pass.ts'
import { executionDetails } from './details.ts'
import { observeExecution } from './observe-execution.ts'
import { executionPlan } from './plan.ts'

const short = shortActivities<Omit<ExecutionActivities, keyof DeployActivities>>()

export const executionJobs: JobController<ExecutionState, ExecutionActivities> = {
  plan: executionPlan,
  act: {
    ...deployActivities,
    observeExecution: short.observeExecution,
    beginJob: short.beginJob,
    guardSubject: short.guardSubject,
    applyDeployItems: short.applyDeployItems,
    triggerDeployItems: short.triggerDeployItems,
    deleteDeployItems: short.deleteDeployItems,
    releaseDeployItems: short.releaseDeployItems,
    releaseItemsOfRemovedClusters: short.releaseItemsOfRemovedClusters,
    interruptExecution: short.interruptExecution,
    forgetInterrupt: short.forgetInterrupt,
    tellPause: short.tellPause,
    endUnclaimedItems: short.endUnclaimedItems,
    skipItems: short.skipItems,
    collectExports: short.collectExports,
  },
  observe: observeExecution,
  begin: beginExecution,
  resume: resumeExecution,
  details: executionDetails,
  searchAttributes: ({ deployItems }) => deployItems.flatMap(({ uid, name }) => [uid, name]),
}

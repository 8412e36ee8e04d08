// The phases of an Execution and their steps. Source: seeds/landscaper-execution-controller.txt.

import { type JobPlan, joinOrdered, sequential } from '../../kit/index.ts'
import { applyDeployItems, checkEdits, checkItems, collectExports } from './apply-deploy-items.ts'
import { awaitPickup, endUnclaimedItems, interruptItems, skipItems } from './end-items.ts'
import { awaitResume, guardExecution } from './begin-execution.ts'
import { cleanUpOrphans } from './clean-up-orphans.ts'
import type { ExecutionPass } from './pass.ts'
import { executionSteps } from './controller.gen.ts'
import { deleteDeployItems, releaseExecution, triggerDeletion } from './delete-items.ts'
import { nameDeployers, triggerDeployItems } from './trigger-deploy-items.ts'
import { jobStatus, reportOf } from '../job-status.ts'

const step = executionSteps({
  checkItems,
  awaitResume,
  guardExecution,
  applyDeployItems,
  nameDeployers,
  interruptItems,
  endUnclaimedItems,
  skipItems,
  checkEdits,
  cleanUpOrphans,
  triggerDeployItems,
  awaitPickup,
  collectExports,
  deleteDeployItems,
  triggerDeletion,
  releaseExecution,
})

export const executionPlan: JobPlan<ExecutionPass> = {
  kind: 'Execution',
  phases: {
    Init: {
      step: sequential(step.checkItems, step.awaitResume, step.guardExecution, step.applyDeployItems),
      next: 'Progressing',
    },
    Progressing: {
      step: sequential(
        step.nameDeployers,
        step.interruptItems,
        step.endUnclaimedItems,
        step.awaitResume,
        step.skipItems,
        joinOrdered(sequential(step.checkEdits, step.cleanUpOrphans, step.triggerDeployItems), step.awaitPickup),
      ),
      next: 'Completing',
    },
    Completing: { step: step.collectExports, next: 'Succeeded' },
    InitDelete: { step: sequential(step.awaitResume, step.deleteDeployItems), next: 'Deleting' },
    Deleting: {
      step: sequential(
        step.interruptItems,
        step.endUnclaimedItems,
        step.awaitResume,
        joinOrdered(step.triggerDeletion, step.awaitPickup),
        step.releaseExecution,
      ),
      next: 'Deleting',
    },
  },
  finalPhases: ['Succeeded', 'Failed', 'DeleteFailed'],
  first: jobStatus.firstPhase,
  failed: (phase) => (phase === 'InitDelete' || phase === 'Deleting' ? 'DeleteFailed' : 'Failed'),
  report: reportOf({ codes: { CyclicDependencies: ['ERR_CYCLIC_DEPENDENCIES'] } }),
}

// The phases of an Execution and their steps, on one screen. Source: seeds/landscaper-execution-controller.txt.

import { action, joinOrdered, type JobPlan, sequential } from '../kit/index.ts'
import { applyDeployItems } from './apply-deploy-items.ts'
import { awaitPickup } from './await-pickup.ts'
import { checkEdits, checkItems } from './check-items.ts'
import { cleanUpOrphans } from './clean-up-orphans.ts'
import { collectExports } from './collect-exports.ts'
import type { ExecutionPass } from './controller.ts'
import { deleteDeployItems } from './delete-deploy-items.ts'
import { endUnclaimedItems } from './end-unclaimed-items.ts'
import { guardExecution } from './guard-execution.ts'
import { interruptItems } from './interrupt-items.ts'
import { nameDeployers } from './name-deployers.ts'
import { releaseExecution } from './release-execution.ts'
import { triggerDeletion } from './trigger-deletion.ts'
import { triggerDeployItems } from './trigger-deploy-items.ts'

export const executionPlan: JobPlan<ExecutionPass> = {
  kind: 'Execution',
  phases: {
    Init: {
      step: sequential(
        action('checkItems', checkItems),
        action('guardExecution', guardExecution),
        action('applyDeployItems', applyDeployItems),
      ),
      next: 'Progressing',
    },
    Progressing: {
      step: sequential(
        action('nameDeployers', nameDeployers),
        action('interruptItems', interruptItems),
        action('endUnclaimedItems', endUnclaimedItems),
        joinOrdered(
          sequential(
            action('checkEdits', checkEdits),
            action('cleanUpOrphans', cleanUpOrphans),
            action('triggerDeployItems', triggerDeployItems),
          ),
          action('awaitPickup', awaitPickup),
        ),
      ),
      next: 'Completing',
    },
    Completing: { step: action('collectExports', collectExports), next: 'Succeeded' },
    InitDelete: { step: action('deleteDeployItems', deleteDeployItems), next: 'Deleting' },
    Deleting: {
      step: sequential(
        action('interruptItems', interruptItems),
        action('endUnclaimedItems', endUnclaimedItems),
        joinOrdered(action('triggerDeletion', triggerDeletion), action('awaitPickup', awaitPickup)),
        action('releaseExecution', releaseExecution),
      ),
      next: 'Deleting',
    },
  },
  finalPhases: ['Succeeded', 'Failed', 'DeleteFailed'],
  first: (deleting) => (deleting ? 'InitDelete' : 'Init'),
  failed: (phase) => (phase === 'InitDelete' || phase === 'Deleting' ? 'DeleteFailed' : 'Failed'),
  errorCodes: { CyclicDependencies: ['ERR_CYCLIC_DEPENDENCIES'] },
}

// The phases of an Installation and their steps, on one screen. Source: spec/landscaper.md 2.3, 2.4.

import { type JobPlan, nop, sequential } from '../../kit/index.ts'
import { applyExecution } from './apply-execution.ts'
import { awaitDeletion } from './await-deletion.ts'
import { awaitExecution } from './await-execution.ts'
import { checkGeneration } from './check-generation.ts'
import type { InstallationPass } from './pass.ts'
import { installationSteps } from './controller.gen.ts'
import { deleteExecution } from './delete-execution.ts'
import { interruptInstallation } from './interrupt-installation.ts'
import { triggerExecution } from './trigger-execution.ts'
import { writeExports } from './write-exports.ts'
import { jobStatus, reportOf } from '../job-status.ts'

const step = installationSteps({
  applyExecution,
  interruptInstallation,
  triggerExecution,
  awaitExecution,
  checkGeneration,
  writeExports,
  deleteExecution,
  awaitDeletion,
})

export const installationPlan: JobPlan<InstallationPass> = {
  kind: 'Installation',
  phases: {
    Init: { step: step.applyExecution, next: 'CleanupOrphaned' },
    // Sub-installations come with a later capability; until then there are no orphans.
    CleanupOrphaned: { step: nop, next: 'ObjectsCreated' },
    ObjectsCreated: {
      step: sequential(step.interruptInstallation, step.triggerExecution),
      next: 'Progressing',
    },
    Progressing: {
      step: sequential(step.interruptInstallation, step.triggerExecution, step.awaitExecution),
      next: 'Completing',
    },
    Completing: {
      step: sequential(step.checkGeneration, step.writeExports),
      next: 'Succeeded',
    },
    InitDelete: { step: step.deleteExecution, next: 'TriggerDelete' },
    TriggerDelete: {
      step: sequential(step.interruptInstallation, step.triggerExecution),
      next: 'Deleting',
    },
    // A decision to let go may come at any time, and a job ID that a hand has taken away is handed out again.
    Deleting: {
      step: sequential(step.deleteExecution, step.interruptInstallation, step.triggerExecution, step.awaitDeletion),
      next: 'Deleting',
    },
  },
  finalPhases: ['Succeeded', 'Failed', 'DeleteFailed'],
  first: jobStatus.first,
  failed: (phase) =>
    phase === 'InitDelete' || phase === 'TriggerDelete' || phase === 'Deleting' ? 'DeleteFailed' : 'Failed',
  // Source: spec/landscaper.md 2.3 "Progressing".
  report: reportOf({
    names: {
      ChildrenFailed: { operation: 'buildErrorIfFailedChild', reason: 'children failed' },
      InterruptOperation: { operation: 'InterruptOperation', reason: 'InterruptOperation' },
    },
  }),
}

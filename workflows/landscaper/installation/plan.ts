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
import { writeExports } from './write-exports.ts'
import { runExecution } from './run-execution.ts'
import { jobStatus, reportOf } from '../job-status.ts'

const step = installationSteps({
  applyExecution,
  interruptInstallation,
  runExecution,
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
    ObjectsCreated: { step: step.interruptInstallation, next: 'Progressing' },
    Progressing: {
      step: sequential(step.interruptInstallation, step.runExecution, step.awaitExecution),
      next: 'Completing',
    },
    Completing: {
      step: sequential(step.checkGeneration, step.writeExports),
      next: 'Succeeded',
    },
    InitDelete: { step: step.deleteExecution, next: 'TriggerDelete' },
    TriggerDelete: { step: step.interruptInstallation, next: 'Deleting' },
    // A decision to let go may come at any time.
    Deleting: {
      step: sequential(step.deleteExecution, step.interruptInstallation, step.runExecution, step.awaitDeletion),
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

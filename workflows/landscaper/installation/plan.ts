// The phases of an Installation and their steps. Source: spec/landscaper.md 2.3, 2.4.

import { type JobPlan, sequential } from '../../kit/index.ts'
import { applyChildren } from './apply-children.ts'
import { awaitDeletion, awaitSuccessors, deleteChildren } from './delete-children.ts'
import { awaitChildren, checkGeneration } from './await-children.ts'
import type { InstallationPass } from './pass.ts'
import { installationSteps } from './controller.gen.ts'
import { abandonExports, awaitResume, interruptInstallation, yieldToDeletion } from './interrupt-installation.ts'
import { IMPORT_CYCLE, triggerDependents, writeExports } from './write-exports.ts'
import { runExecution } from './run-execution.ts'
import { cleanUpSubInstallations, triggerSubInstallations } from './sub-installations.ts'
import { jobStatus, reportOf } from '../job-status.ts'

const step = installationSteps({
  applyChildren,
  cleanUpSubInstallations,
  triggerSubInstallations,
  interruptInstallation,
  awaitResume,
  yieldToDeletion,
  runExecution,
  awaitChildren,
  abandonExports,
  checkGeneration,
  writeExports,
  awaitSuccessors,
  deleteChildren,
  awaitDeletion,
  triggerDependents,
})

export const installationPlan: JobPlan<InstallationPass> = {
  kind: 'Installation',
  phases: {
    // A sub-installation that a user deleted must be gone before it is created again.
    Init: {
      step: sequential(
        step.interruptInstallation,
        step.awaitResume,
        step.yieldToDeletion,
        step.cleanUpSubInstallations,
        step.applyChildren,
      ),
      next: 'CleanupOrphaned',
    },
    CleanupOrphaned: {
      step: sequential(step.interruptInstallation, step.awaitResume, step.cleanUpSubInstallations),
      next: 'ObjectsCreated',
    },
    ObjectsCreated: {
      step: sequential(step.interruptInstallation, step.awaitResume, step.triggerSubInstallations),
      next: 'Progressing',
    },
    Progressing: {
      step: sequential(step.interruptInstallation, step.awaitResume, step.runExecution, step.awaitChildren),
      next: 'Completing',
    },
    Completing: {
      step: sequential(step.abandonExports, step.checkGeneration, step.writeExports),
      next: 'Succeeded',
    },
    InitDelete: {
      step: sequential(step.interruptInstallation, step.awaitResume, step.awaitSuccessors, step.deleteChildren),
      next: 'TriggerDelete',
    },
    TriggerDelete: {
      step: sequential(step.interruptInstallation, step.awaitResume, step.triggerSubInstallations),
      next: 'Deleting',
    },
    // deleteChildren runs here too, because the request to delete without uninstalling may come at any time.
    Deleting: {
      step: sequential(
        step.deleteChildren,
        step.interruptInstallation,
        step.awaitResume,
        step.triggerSubInstallations,
        step.runExecution,
        step.awaitDeletion,
      ),
      next: 'Deleting',
    },
  },
  finalPhases: ['Succeeded', 'Failed', 'DeleteFailed'],
  ending: step.triggerDependents,
  first: jobStatus.firstPhase,
  failed: (phase) =>
    phase === 'InitDelete' || phase === 'TriggerDelete' || phase === 'Deleting' ? 'DeleteFailed' : 'Failed',
  // Source: spec/landscaper.md 2.3 "Progressing".
  report: reportOf({
    codes: { [IMPORT_CYCLE]: ['ERR_CYCLIC_DEPENDENCIES'] },
    names: {
      ChildrenFailed: { operation: 'buildErrorIfFailedChild', reason: 'children failed' },
      InterruptOperation: { operation: 'InterruptOperation', reason: 'InterruptOperation' },
    },
  }),
}

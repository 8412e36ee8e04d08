// Workflows of another release: the plans of Installations and Executions have additional steps in most phases in which
// jobs wait, also in deletions. The results of the plans are the same.

import { action, done, sequential, type Step } from '../../../workflows/kit/index.ts'
import type { ExecutionPass } from '../../../workflows/landscaper/execution/pass.ts'
import { executionPlan } from '../../../workflows/landscaper/execution/plan.ts'
import type { InstallationPass } from '../../../workflows/landscaper/installation/pass.ts'
import { installationPlan } from '../../../workflows/landscaper/installation/plan.ts'

export { deploy, execution, installation } from '../../../workflows/index.ts'

const lookAgain = action<InstallationPass>('lookAgain', async ({ by, subject, act }) => {
  await act.observeInstallation({ by, subject, known: {} })
  return done
})

const lookAtItems = action<ExecutionPass>('lookAtItems', async ({ by, subject, act }) => {
  await act.observeExecution({ by, subject, known: {} })
  return done
})

interface Phases<Pass> {
  readonly phases: Readonly<Record<string, { readonly step: Step<Pass>; readonly next: string }>>
}

/** Changes the plan object in place, because the workflows import this object. Each run has its own modules. */
function change<Pass>(plan: Phases<Pass>, phase: string, changed: (step: Step<Pass>) => Step<Pass>): void {
  const { step, next } = plan.phases[phase]!
  Object.assign(plan.phases, { [phase]: { step: changed(step), next } })
}

for (const phase of ['Init', 'Progressing', 'Deleting'])
  change(installationPlan, phase, (step) => sequential(lookAgain, step))
change(installationPlan, 'Completing', (step) => sequential(step, lookAgain))
for (const phase of ['Progressing', 'Deleting']) change(executionPlan, phase, (step) => sequential(lookAtItems, step))

// A build with changes that a replay of the SDK does not detect, because its calls and their order are unchanged. The
// plan of its Executions lacks a step, and the status of a failed job has another error report.

import { type ErrorReport, type Fault, type JobInput, sequential } from '../../../../../workflows/kit/index.ts'
import { runJob, type RunResult } from '../../../../../workflows/kit/run/loop/index.ts'
import { executionJobs } from '../../../../../workflows/landscaper/execution/jobs.ts'
import { executionPlan } from '../../../../../workflows/landscaper/execution/plan.ts'

export { context, deploy, installation, targetSync } from '../../../../../workflows/index.ts'

const { Progressing, ...phases } = executionPlan.phases
const steps = Progressing?.step.children ?? []
const plan = {
  ...executionPlan,
  phases: {
    ...phases,
    // Without awaitPickup, which is the last step of the last group.
    Progressing: {
      next: 'Completing',
      step: sequential(...steps.slice(0, -1), ...(steps.at(-1)?.children.slice(0, -1) ?? [])),
    },
  },
  report: (operation: string, faults: readonly Fault[]): ErrorReport => ({
    operation,
    reason: 'Failed',
    message: faults.map(({ message }) => message).join('; '),
  }),
}

export async function execution(input: JobInput): Promise<RunResult> {
  return await runJob({ ...executionJobs, plan }, input)
}

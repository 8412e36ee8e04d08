// Worker entry with an incompatible loop: its Execution observes twice before each pass.

import { beginExecution } from '../../workflows/landscaper/execution/begin-execution.ts'
import type { ExecutionActivities, ExecutionState } from '../../workflows/landscaper/execution/pass.ts'
import { executionDetails } from '../../workflows/landscaper/execution/details.ts'
import { observeExecution } from '../../workflows/landscaper/execution/observe-execution.ts'
import { executionJobs } from '../../workflows/landscaper/execution/jobs.ts'
import { executionPlan } from '../../workflows/landscaper/execution/plan.ts'
import type { JobController, JobInput } from '../../workflows/kit/index.ts'
import { runJob, type RunResult } from '../../workflows/kit/run/loop/index.ts'

const controller: JobController<ExecutionState, ExecutionActivities> = {
  plan: executionPlan,
  act: executionJobs.act,
  async observe(act, input, by, latest) {
    await observeExecution(act, input, by, latest)
    return await observeExecution(act, input, by, latest)
  },
  begin: beginExecution,
  details: executionDetails,
}

export async function execution(input: JobInput): Promise<RunResult> {
  return await runJob(controller, input)
}

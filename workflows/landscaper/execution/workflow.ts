import type { JobController, JobInput } from '../../kit/index.ts'
import { runJob, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { beginExecution } from './begin-execution.ts'
import type { ExecutionActivities, ExecutionState } from './pass.ts'
import { executionDetails } from './details.ts'
import { observeExecution } from './observe-execution.ts'
import { executionPlan } from './plan.ts'

const controller: JobController<ExecutionState, ExecutionActivities> = {
  plan: executionPlan,
  act: shortActivities<ExecutionActivities>(),
  observe: observeExecution,
  begin: beginExecution,
  details: executionDetails,
}

/** One reconcile job of one Execution. Workflow ID: `execution/<uid>/<jobID>`. */
export async function execution(input: JobInput): Promise<RunResult> {
  return await runJob(controller, input)
}

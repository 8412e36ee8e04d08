import type { JobInput } from '../../kit/index.ts'
import { runJob, type RunResult } from '../../kit/run/loop/index.ts'
import { executionJobs } from './jobs.ts'

/** One reconcile job of one Execution. */
export async function execution(input: JobInput): Promise<RunResult> {
  return await runJob(executionJobs, input)
}

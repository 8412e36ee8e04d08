// The workflows of a worker whose Installation looks once more than it did when the run was begun: a step more in the plan of a job.

import type { JobInput } from '../../../workflows/kit/index.ts'
import { type RunResult, shortActivities } from '../../../workflows/kit/run/loop/index.ts'
import type { InstallationActivities } from '../../../workflows/landscaper/installation/pass.ts'
import { installation as present } from '../../../workflows/landscaper/installation/workflow.ts'

export { deploy } from '../../../workflows/landscaper/deploy-item/workflow.ts'
export { execution } from '../../../workflows/landscaper/execution/workflow.ts'

const { observeInstallation } = shortActivities<Pick<InstallationActivities, 'observeInstallation'>>()

export async function installation(input: JobInput): Promise<RunResult> {
  const by = { workflowID: `installation/${input.subject.uid}`, runID: '', pass: 0 }
  await observeInstallation({ by, subject: input.subject, known: {} })
  return await present(input)
}

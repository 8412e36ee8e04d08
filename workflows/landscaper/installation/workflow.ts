import type { JobController, JobInput } from '../../kit/index.ts'
import { runJob, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { beginInstallation } from './begin-installation.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'
import { installationDetails } from './details.ts'
import { observeInstallation } from './observe-installation.ts'
import { installationPlan } from './plan.ts'

const controller: JobController<InstallationState, InstallationActivities> = {
  plan: installationPlan,
  act: shortActivities<InstallationActivities>(),
  observe: observeInstallation,
  begin: beginInstallation,
  details: installationDetails,
}

/** One reconcile job of one Installation. Workflow ID: `installation/<uid>/<jobID>`. */
export async function installation(input: JobInput): Promise<RunResult> {
  return await runJob(controller, input)
}

import type { GroupController, JobInput } from '../../kit/index.ts'
import { runGroup, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { deployActivities } from './jobs.ts'
import { type DeployActivities, type DeployGroupActivities, type DeployGroupState, isUnfinished } from './pass.ts'
import { deployDetails } from './details.ts'
import { observeDeployGroup } from './observe-deploy-group.ts'
import { deployPlan } from './plan.ts'

const short = shortActivities<Omit<DeployGroupActivities, keyof DeployActivities>>()

const controller: GroupController<DeployGroupState, DeployGroupActivities> = {
  act: {
    ...deployActivities,
    observeDeployGroup: short.observeDeployGroup,
    beginJob: short.beginJob,
  },
  observe: observeDeployGroup,
  step: deployPlan,
  // An item without Execution is alone: nothing can join its group, and nobody tells the end of its job.
  isOver: ({ subject, state, jobID }) =>
    (state.isOver || subject.kind === 'DeployItem') && !state.deployItems.some((item) => isUnfinished(item, jobID)),
  details: deployDetails,
}

/** All items of built-in types of one Execution and job, or one item without Execution. */
export async function deploy(input: JobInput): Promise<RunResult> {
  return await runGroup(controller, input)
}

import type { GroupController, JobInput } from '../kit/index.ts'
import { runGroup, type RunResult, shortActivities } from '../kit/reconcile-loop.ts'
import { type DeployGroupActivities, type DeployGroupState, isUnfinished } from './controller.ts'
import { deployDetails } from './details.ts'
import { deployPlan } from './plan.ts'

const controller: GroupController<DeployGroupState, DeployGroupActivities> = {
  act: shortActivities<DeployGroupActivities>(),
  observe: (act, { subject, jobID }, by) => act.observeDeployGroup({ by, subject, jobID, ownVersion: 0 }),
  step: deployPlan,
  // An item without Execution is alone: nothing can join its group, and nobody tells the end of its job.
  isOver: ({ subject, state, jobID }) =>
    (state.isOver || subject.kind === 'DeployItem') && !state.items.some((item) => isUnfinished(item, jobID)),
  details: deployDetails,
}

/** All items of built-in types of one Execution and job, or one item without Execution. Workflow ID: `deploy/<uid>/<jobID>`. */
export async function deploy(input: JobInput): Promise<RunResult> {
  return await runGroup(controller, input)
}

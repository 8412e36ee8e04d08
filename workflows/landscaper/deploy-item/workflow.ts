import type { GroupController, JobInput } from '../../kit/index.ts'
import { longActivities, runGroup, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { type DeployGroupActivities, type DeployGroupState, isUnfinished, type ItemActivities } from './pass.ts'
import { deployDetails } from './details.ts'
import { observeDeployGroup } from './observe-deploy-group.ts'
import { deployPlan } from './plan.ts'

// A look takes seconds; a deployment of hundreds of objects minutes. A worker that died is noticed by its silence.
const ITEM_LIMITS = { startToCloseMs: 600_000, heartbeatMs: 5000, retryMs: 5000 }

const short = shortActivities<Omit<DeployGroupActivities, 'forItem'>>()

const controller: GroupController<DeployGroupState, DeployGroupActivities> = {
  act: {
    observeDeployGroup: short.observeDeployGroup,
    deployMockItems: short.deployMockItems,
    sendItems: short.sendItems,
    beginJob: short.beginJob,
    forItem: (item) => longActivities<ItemActivities>({ ...ITEM_LIMITS, summary: item }),
  },
  observe: observeDeployGroup,
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

import type { JobInput, StepController } from '../../kit/index.ts'
import { runSteps, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { deployActivities } from './jobs.ts'
import { type DeployActivities, type ItemRunActivities, type ItemState, shownItem } from './pass.ts'
import { itemDetails } from './details.ts'
import { observeItem } from './observe-item.ts'
import { deployPlan } from './plan.ts'

const short = shortActivities<Omit<ItemRunActivities, keyof DeployActivities>>()

const controller: StepController<ItemState, ItemRunActivities> = {
  act: {
    ...deployActivities,
    observeDeployItem: short.observeDeployItem,
    beginJob: short.beginJob,
    guardSubject: short.guardSubject,
    forgetRetry: short.forgetRetry,
  },
  observe: observeItem,
  step: deployPlan,
  shown: shownItem,
  failedPhases: ['Failed', 'DeleteFailed'],
  details: itemDetails,
}

/** One job of one item that no Execution hosts. */
export async function deploy(input: JobInput): Promise<RunResult> {
  return await runSteps(controller, input)
}

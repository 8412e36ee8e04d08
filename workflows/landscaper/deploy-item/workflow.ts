import { type JobInput, codeBlock, type StepController } from '../../kit/index.ts'
import { type RunResult, runSteps, shortActivities } from '../../kit/run/loop/index.ts'
import { deployActivities } from './jobs.ts'
import {
  type DeployActivities,
  type ItemPass,
  type ItemRunActivities,
  type ItemState,
  observeItem,
  shownItem,
} from './pass.ts'
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

// Formats the details of an item's run for Temporal's UI.

const LONGEST_ERROR = 2000

function itemDetails({ subject, state }: ItemPass): string {
  const [item] = state.deployItems
  const shown = item === undefined ? 'gone' : `${item.type}, ${item.phase ?? 'not started'}`
  const { error, reason = 'Unknown' } = item ?? {}
  const failed = error === undefined ? '' : `\n\nError (${reason}):${codeBlock(error, LONGEST_ERROR)}`
  return `**Deploy item ${subject.namespace}/${subject.name}**: ${shown}${failed}`
}

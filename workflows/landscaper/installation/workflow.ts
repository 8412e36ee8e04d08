import { type JobController, type JobInput, codeBlock } from '../../kit/index.ts'
import { Hosting, runJob, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { executionKind } from '../execution/kind.ts'
import { executionJobs } from '../execution/jobs.ts'
import { beginInstallation } from './begin-installation.ts'
import {
  type InstallationActivities,
  type InstallationPass,
  type InstallationState,
  observeInstallation,
} from './pass.ts'
import { installationPlan } from './plan.ts'
import { currentWait } from './wait-conditions.ts'

const short = shortActivities<Omit<InstallationActivities, 'runExecution' | 'itemsOfExecution'>>()

/** One reconcile job of one Installation, with its Execution and its items. */
export async function installation(input: JobInput): Promise<RunResult> {
  const executions = new Hosting('execution', executionJobs)
  const { namespace, name } = input.subject
  const { group, kind } = executionKind
  const controller: JobController<InstallationState, InstallationActivities> = {
    plan: installationPlan,
    act: {
      observeInstallation: short.observeInstallation,
      startInstallation: short.startInstallation,
      adoptInstallation: short.adoptInstallation,
      guardSubject: short.guardSubject,
      forgetInterrupt: short.forgetInterrupt,
      applyChildren: short.applyChildren,
      deleteExecution: short.deleteExecution,
      triggerSubInstallations: short.triggerSubInstallations,
      interruptSubInstallations: short.interruptSubInstallations,
      holdSubInstallations: short.holdSubInstallations,
      tellPause: short.tellPause,
      deleteSubInstallations: short.deleteSubInstallations,
      lookForSuccessors: short.lookForSuccessors,
      triggerDependents: short.triggerDependents,
      askLeftDependents: short.askLeftDependents,
      interruptInstallation: short.interruptInstallation,
      writeExports: short.writeExports,
      runExecution: async (pass, state) =>
        await executions.pass(pass, { group, kind, uid: state.target.uid, namespace, name }, state),
      itemsOfExecution: () => executions.state?.deployItems ?? [],
    },
    observe: observeInstallation,
    begin: beginInstallation,
    details: installationDetails,
  }
  return await runJob(controller, input, [executions])
}

// Formats the Installation's details for Temporal's UI; its Execution and items follow below (execution/details.ts).

const LONGEST_ERROR = 2000

function installationDetails(pass: InstallationPass): string {
  const {
    subject,
    state: { execution },
    draft,
  } = pass
  const wait = currentWait(pass)
  const { phase = 'not started', lastError } = draft
  return [
    `**Installation ${subject.namespace}/${subject.name}**: ${phase}`,
    ...(lastError === undefined
      ? []
      : ['', `Error (${lastError.reason}):${codeBlock(lastError.message, LONGEST_ERROR)}`]),
    ...(wait === undefined ? [] : ['', `It is ${wait}.`]),
    ...(execution === undefined ? ['', 'It has no Execution.'] : []),
  ].join('\n')
}

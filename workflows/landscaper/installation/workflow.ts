import type { JobController, JobInput } from '../../kit/index.ts'
import { Hosting, runJob, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { executionKind } from '../execution/kind.ts'
import { executionJobs } from '../execution/jobs.ts'
import { beginInstallation } from './begin-installation.ts'
import type { InstallationActivities, InstallationState } from './pass.ts'
import { installationDetails } from './details.ts'
import { observeInstallation } from './observe-installation.ts'
import { installationPlan } from './plan.ts'

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

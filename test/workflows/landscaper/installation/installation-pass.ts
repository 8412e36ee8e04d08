// Builder of an Installation's pass: its objects, and activities that answer as the real ones do and note their calls.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import type { ChildExecution, InstallationView } from '../../../../activities/landscaper/installation/views.ts'
import type {
  InstallationActivities,
  InstallationPass,
  InstallationState,
} from '../../../../workflows/landscaper/installation/pass.ts'

export const JOB = 'job-2'

const TARGET: InstallationView = {
  ...{ version: '10', generation: 2, deleting: false, finalizers: [FINALIZER], phase: 'Progressing', jobID: JOB },
  ...{
    jobIDFinished: 'job-1',
    observedGeneration: 2,
    lastError: undefined,
    trigger: undefined,
    reconcileRequested: false,
    interruptRequested: false,
  },
  ...{ hasContext: true, exports: false, withoutUninstall: false, importsHash: undefined, importsRefused: false },
}

/** The execution while it runs the job. */
export const EXECUTION: ChildExecution = {
  ...{ uid: 'e', version: '5', deleting: false, withoutUninstall: false, phase: 'Progressing' },
  ...{ interruptRequested: false, jobID: JOB, jobIDFinished: 'job-1' },
}

interface Given {
  readonly target?: Partial<InstallationView>
  readonly execution?: ChildExecution | undefined
  readonly act?: Partial<InstallationActivities>
  readonly state?: Partial<InstallationState>
}

/** A pass over the given objects, and the calls it made. */
export function installationPass({ target = {}, act = {}, state = {}, ...given }: Given = {}) {
  const calls: string[] = []
  const observed = { ...TARGET, ...target }
  const execution = 'execution' in given ? given.execution : EXECUTION
  const called = <Result>(name: string, result: Result): Promise<Result> => {
    calls.push(name)
    // As results of activities travel: absent fields are left out.
    return Promise.resolve(result === undefined ? result : (JSON.parse(JSON.stringify(result)) as Result))
  }
  const fakes: InstallationActivities = {
    observeInstallation: () => Promise.reject(new Error('was not expected')),
    beginJob: ({ target: { version, deleting } }) =>
      called(`beginJob ${version}`, {
        ...observed,
        version: '11',
        jobID: JOB,
        lastError: undefined,
        phase: deleting ? 'InitDelete' : 'Init',
      }),
    adoptInstallation: ({ target: begun }) =>
      called(`adoptInstallation ${begun.version}`, {
        ...{
          ...begun,
          version: '12',
          generation: 3,
          finalizers: [FINALIZER],
          hasContext: true,
          reconcileRequested: false,
        },
      }),
    guardSubject: () => called('guardSubject', observed),
    applyExecution: () => called('applyExecution', { result: 'applied' as const, execution: EXECUTION }),
    triggerExecution: () => called('triggerExecution', EXECUTION),
    deleteExecution: () => called('deleteExecution', { ...EXECUTION, deleting: true }),
    interruptInstallation: ({ execution: one }) =>
      called(one === undefined ? 'takeInterruptOff' : 'interruptExecution', { ...observed, interruptRequested: false }),
    writeExports: ({ importsHash }) => called('writeExports', { imports: importsHash !== undefined }),
  }
  const pass: InstallationPass = {
    subject: { kind: 'Installation', uid: 'u', namespace: 'n', name: 'root' },
    jobID: JOB,
    by: { workflowID: `installation/u/${JOB}`, runID: 'run', pass: 1 },
    act: { ...fakes, ...act },
    state: { target: observed, execution, isAdopted: false, isEmpty: false, ...state },
    draft: {
      ...{ phase: observed.phase, observedGeneration: observed.observedGeneration, lastError: undefined },
      ...{ conditions: [], marks: [], fields: {} },
    },
  }
  return { pass, calls }
}

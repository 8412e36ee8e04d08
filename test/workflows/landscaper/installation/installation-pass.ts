// Builder of an Installation's pass: its objects, and activities that answer as the real ones do and note their calls.

import { handedDownValue } from '../../../../workflows/landscaper/pause.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { ChildExecution, InstallationView } from '../../../../activities/landscaper/installation/views.ts'
import type {
  ExecutionProgress,
  InstallationActivities,
  InstallationPass,
  InstallationState,
} from '../../../../workflows/landscaper/installation/pass.ts'

import { done } from '../../../../workflows/kit/index.ts'

import { HeldTracks } from '../held-tracks.ts'

export const JOB = 'job-2'

const TARGET: InstallationView = {
  version: '10',
  generation: 2,
  deleting: false,
  finalizers: [FINALIZER],
  phase: 'Progressing',
  jobID: JOB,
  jobIDFinished: 'job-1',
  observedGeneration: 2,
  lastError: undefined,
  trigger: undefined,
  reconcileRequested: false,
  interruptRequested: false,
  hasContext: true,
  hasExecution: true,
  exports: false,
  withoutUninstall: false,
  importsHash: undefined,
  uid: 'u',
  name: 'root',
  hasParent: false,
  awaitsSuccessors: false,
  activeSubs: [],
}

/** The execution while it runs the job. */
export const EXECUTION: ChildExecution = {
  uid: 'e',
  version: '5',
  generation: 1,
  deleting: false,
  finalizers: [FINALIZER],
  phase: 'Progressing',
  jobID: JOB,
  jobIDFinished: 'job-1',
  observedGeneration: 1,
  lastError: undefined,
  withoutUninstall: false,
  items: [],
  problem: undefined,
  interruptRequested: false,
  hasParent: true,
  isUnbegun: false,
  hasExports: false,
  renderedFrom: { generation: 2, importsHash: undefined },
}

/** The same after the job before. */
export const IDLE: ChildExecution = { ...EXECUTION, jobID: 'job-1', phase: 'Succeeded' }

/** A sub-installation that runs the job. */
export const SUB: InstallationView = {
  ...TARGET,
  uid: 'uid-sub',
  name: 'sub-1',
  version: '8',
  hasParent: true,
  template: 'sub',
}

/** An item of it that runs the job. */
export const ITEM: DeployItemView = {
  uid: 'uid-a',
  version: '7',
  name: 'root-a',
  item: 'a',
  type: 'example.com/theirs',
  dependsOn: [],
  deleting: false,
  finalizers: [FINALIZER],
  phase: 'Progressing',
  jobID: JOB,
  jobIDFinished: undefined,
  exportRef: undefined,
  uninstalls: false,
}

/** What a pass over the execution comes to that waits. */
export function progress(
  state: Parameters<InstallationActivities['runExecution']>[1],
  { phase, result }: { readonly phase: string; readonly result?: string | undefined } = { phase: 'Progressing' },
): ExecutionProgress {
  const draft = { phase, observedGeneration: 1, lastError: undefined, conditions: [], marks: [], fields: {} }
  return { outcome: done, result, state, draft }
}

export interface Given {
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
  const namesOf = (subs: readonly { readonly name: string }[]) => subs.map(({ name }) => name).join(' ')
  const told = (subs: readonly { readonly uid: string }[], change: Partial<InstallationView>) => {
    const known = state.subInstallations ?? []
    const changed = known.filter(({ uid }) => subs.some((sub) => sub.uid === uid)).map((one) => ({ ...one, ...change }))
    return { changed, gone: [] }
  }
  const fakes: InstallationActivities = {
    observeInstallation: () => Promise.reject(new Error('was not expected')),
    startInstallation: () => Promise.reject(new Error('was not expected')),
    adoptInstallation: ({ target: begun }) =>
      called(`adoptInstallation ${begun.version}`, {
        ...begun,
        version: '12',
        generation: 3,
        finalizers: [FINALIZER],
        hasContext: true,
        reconcileRequested: false,
      }),
    guardSubject: () => called('guardSubject', observed),
    applyChildren: () =>
      called('applyChildren', { result: 'applied' as const, execution: EXECUTION, subInstallations: [] }),
    deleteExecution: () => called('deleteExecution', { ...EXECUTION, deleting: true }),
    triggerSubInstallations: ({ subInstallations, jobID }) =>
      called(`triggerSubInstallations ${namesOf(subInstallations)}`, told(subInstallations, { jobID })),
    interruptSubInstallations: ({ subInstallations }) =>
      called(
        `interruptSubInstallations ${namesOf(subInstallations)}`,
        told(subInstallations, { interruptRequested: true }),
      ),
    holdSubInstallations: ({ subInstallations, isPaused, jobID }) => {
      const heldBy = handedDownValue(jobID)
      const held = { heldBy, paused: { by: 'its parent', reason: heldBy } }
      return called(
        `${isPaused ? 'hold' : 'let go on'} ${namesOf(subInstallations)}`,
        told(subInstallations, isPaused ? held : {}),
      )
    },
    tellPause: () => called('tellPause', undefined),
    deleteSubInstallations: ({ subInstallations }) =>
      called(`deleteSubInstallations ${namesOf(subInstallations)}`, told(subInstallations, { deleting: true })),
    lookForSuccessors: () => called('lookForSuccessors', { unfinished: [], failed: [] }),
    interruptInstallation: () => called('takeInterruptOff', { ...observed, interruptRequested: false }),
    runExecution: (_, given) => {
      const isAsked = given.target.interruptRequested || given.isInterrupted === true
      calls.push(isAsked ? 'interruptExecution' : 'runExecution')
      const target = { ...given.target, interruptRequested: false }
      return Promise.resolve(progress({ ...given, target, isInterrupted: false }))
    },
    itemsOfExecution: () => [],
    forgetInterrupt({ subject: { uid }, version }) {
      calls.push(`forgetInterrupt ${uid} ${version}`)
      return Promise.resolve({ ...EXECUTION, ...execution, version: '6', interruptRequested: false })
    },
    triggerDependents: () => called('triggerDependents', undefined),
    askLeftDependents: () => {
      const left: InstallationView = { ...TARGET, ...target, version: '13' }
      Reflect.deleteProperty(left, 'hasLeftDependents')
      return called('askLeftDependents', left)
    },
    writeExports: ({ importsHash }) => called('writeExports', { imports: importsHash !== undefined }),
  }
  const pass: InstallationPass = {
    subject: { kind: 'Installation', uid: 'u', namespace: 'n', name: 'root' },
    jobID: JOB,
    by: { workflowID: `installation/u/${JOB}`, runID: 'run', pass: 1 },
    act: { ...fakes, ...act },
    state: { target: observed, execution, deployItems: [], subInstallations: [], isAdopted: false, ...state },
    background: new HeldTracks<InstallationState>(),
    wake: () => undefined,
    hosted: [],
    draft: {
      phase: observed.phase,
      observedGeneration: observed.observedGeneration,
      lastError: undefined,
      conditions: [],
      marks: [],
      fields: {},
    },
  }
  return { pass, calls }
}

// Builders of an Execution's pass: items in their states, and activities that act on a list in memory.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import type { BatchResult, ItemsInput } from '../../../../activities/landscaper/execution/item-batch.ts'
import type { ExecutionView } from '../../../../activities/landscaper/execution/views.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type {
  ExecutionActivities,
  ExecutionPass,
  ExecutionState,
} from '../../../../workflows/landscaper/execution/pass.ts'

export const JOB = 'job-2'
const BEFORE = 'job-1'

const base = (item: string, dependsOn: readonly string[] = []): DeployItemView => ({
  ...{ uid: `uid-${item}`, version: '1', name: `exec-${item}`, item, type: 'mock', dependsOn, deleting: false },
  ...{ finalizers: [FINALIZER], phase: 'Succeeded', jobID: BEFORE, jobIDFinished: BEFORE, exportRef: undefined },
})

export const pending = (item: string, dependsOn?: readonly string[]): DeployItemView => base(item, dependsOn)
export const running = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...base(item, dependsOn),
  ...{ jobID: JOB, phase: 'Progressing' },
})
export const succeeded = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...base(item, dependsOn),
  ...{ jobID: JOB, jobIDFinished: JOB },
})
export const failed = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...succeeded(item, dependsOn),
  phase: 'Failed',
})
export const leaving = (item: DeployItemView): DeployItemView => ({ ...item, deleting: true })

const TARGET: ExecutionView = {
  ...{ version: '10', generation: 1, deleting: false, finalizers: [FINALIZER], phase: 'Progressing', jobID: JOB },
  ...{ jobIDFinished: BEFORE, observedGeneration: 1, lastError: undefined },
  ...{ items: [], problem: undefined, withoutUninstall: false, interruptRequested: false },
  ...{ hasParent: true, isUnbegun: false },
}

export interface Called {
  readonly triggered: string[]
  readonly deleted: string[]
  readonly released: string[]
  readonly interrupted: string[]
  /** Ended because no deployer took them up. */
  readonly unclaimed: string[]
  /** Interrupts that were taken off without ending anything. */
  forgotten: number
}

/** A pass over the given objects; the spec names the same items unless told otherwise. */
export function executionPass(
  deployItems: readonly DeployItemView[],
  {
    target = {},
    act = {},
  }: { readonly target?: Partial<ExecutionView>; readonly act?: Partial<ExecutionActivities> } = {},
): { readonly pass: ExecutionPass; readonly called: Called } {
  const called: Called = { triggered: [], deleted: [], released: [], interrupted: [], unclaimed: [], forgotten: 0 }
  const items = deployItems.map(({ item: name, type, dependsOn }) => ({ name, type, dependsOn }))
  const pass: ExecutionPass = {
    subject: { kind: 'Execution', uid: 'u', namespace: 'n', name: 'exec' },
    jobID: JOB,
    by: { workflowID: `execution/u/${JOB}`, runID: 'run', pass: 1 },
    act: { ...activities(() => pass.state, called), ...act },
    state: { target: { ...TARGET, items, ...target }, deployItems },
    draft: { phase: 'Progressing', observedGeneration: 1, lastError: undefined, conditions: [], marks: [], fields: {} },
  }
  return { pass, called }
}

/** As end-items.ts leaves an item. */
const ended = (item: DeployItemView): DeployItemView => ({
  ...item,
  ...{ jobID: JOB, jobIDFinished: JOB, phase: item.deleting ? 'DeleteFailed' : 'Failed', pickupMs: undefined },
})

export const wrote = (items: readonly DeployItemView[], gone: readonly string[] = []): BatchResult => ({
  ...{ items, gone, failures: [] },
})

function activities(state: () => ExecutionState, called: Called): ExecutionActivities {
  const chosen = ({ items }: ItemsInput) =>
    state().deployItems.filter(({ uid }) => items.some((one) => one.uid === uid))
  const batch = (list: string[], change: (item: DeployItemView) => DeployItemView) => (input: ItemsInput) => {
    list.push(...chosen(input).map(({ item }) => item))
    return Promise.resolve(wrote(chosen(input).map(change)))
  }
  const refuse = (name: string) => () => Promise.reject(new Error(`${name} was not expected`))
  return {
    observeExecution: refuse('observeExecution'),
    beginJob: refuse('beginJob'),
    guardSubject: refuse('guardSubject'),
    applyDeployItems: refuse('applyDeployItems'),
    collectExports: refuse('collectExports'),
    triggerDeployItems: batch(called.triggered, (item) => ({ ...item, jobID: JOB })),
    deleteDeployItems: batch(called.deleted, leaving),
    endUnclaimedItems: batch(called.unclaimed, ended),
    interruptExecution: async (input) => ({
      ...(await batch(called.interrupted, ended)(input)),
      target: { ...state().target, version: '11', interruptRequested: false },
    }),
    forgetInterrupt() {
      called.forgotten += 1
      return Promise.resolve({ ...state().target, version: '11', interruptRequested: false })
    },
    releaseDeployItems(input) {
      called.released.push(...chosen(input).map(({ item }) => item))
      return Promise.resolve(
        wrote(
          [],
          chosen(input).map(({ name }) => name),
        ),
      )
    },
  }
}

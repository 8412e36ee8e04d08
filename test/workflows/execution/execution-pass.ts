// Builders of an Execution's pass: items in their states, and activities that act on a list in memory.

import type { BatchResult, ItemsInput } from '../../../activities/execution/deploy-items.ts'
import type { ExecutionView } from '../../../activities/execution/views.ts'
import type { DeployItemView } from '../../../activities/kube/deploy-item-view.ts'
import type { ExecutionActivities, ExecutionPass } from '../../../workflows/execution/controller.ts'
import { FINALIZER } from '../../../workflows/deploy-item/kind.ts'

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
  ...{ items: [], problem: undefined, withoutUninstall: false },
}

export interface Called {
  readonly triggered: string[]
  readonly deleted: string[]
  readonly released: string[]
}

/** A pass over the given objects; the spec names the same items unless told otherwise. */
export function executionPass(
  deployItems: readonly DeployItemView[],
  {
    target = {},
    act = {},
  }: { readonly target?: Partial<ExecutionView>; readonly act?: Partial<ExecutionActivities> } = {},
): { readonly pass: ExecutionPass; readonly called: Called } {
  const called: Called = { triggered: [], deleted: [], released: [] }
  const items = deployItems.map(({ item: name, type, dependsOn }) => ({ name, type, dependsOn }))
  const pass: ExecutionPass = {
    subject: { kind: 'Execution', uid: 'u', namespace: 'n', name: 'exec' },
    jobID: JOB,
    by: { workflowID: `execution/u/${JOB}`, runID: 'run', pass: 1 },
    act: { ...activities(() => pass.state.deployItems, called), ...act },
    state: { target: { ...TARGET, items, ...target }, deployItems },
    draft: { phase: 'Progressing', observedGeneration: 1, lastError: undefined, conditions: [], marks: [], fields: {} },
  }
  return { pass, called }
}

export const wrote = (items: readonly DeployItemView[], gone: readonly string[] = []): BatchResult => ({
  ...{ items, gone, failures: [] },
})

function activities(all: () => readonly DeployItemView[], called: Called): ExecutionActivities {
  const chosen = ({ items }: ItemsInput) => all().filter(({ uid }) => items.some((one) => one.uid === uid))
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

// Builders of an Execution's pass: items in their states, and activities that act on a list in memory. Items are of a type that others serve, and so
// handed the job ID, unless they are made `served` or `slow`: those are deployed in the pass.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { deployer as manifestDeployer } from '../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { deployer as mockDeployer } from '../../../../activities/landscaper/deploy/mock/deployer.ts'
import type { BatchResult, ItemsInput } from '../../../../activities/landscaper/execution/item-batch.ts'
import type { ExecutionView } from '../../../../activities/landscaper/execution/views.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type {
  ExecutionActivities,
  ExecutionPass,
  ExecutionState,
} from '../../../../workflows/landscaper/execution/pass.ts'

import { HeldTracks } from '../held-tracks.ts'

export const JOB = 'job-2'
/** A type that Pawl does not serve. */
export const THEIRS = 'example.com/theirs'
const BEFORE = 'job-1'

const base = (item: string, dependsOn: readonly string[] = []): DeployItemView => ({
  uid: `uid-${item}`,
  version: '1',
  name: `exec-${item}`,
  item,
  type: THEIRS,
  dependsOn,
  deleting: false,
  finalizers: [FINALIZER],
  phase: 'Succeeded',
  jobID: BEFORE,
  jobIDFinished: BEFORE,
  exportRef: undefined,
  uninstalls: false,
})

export const pending = (item: string, dependsOn?: readonly string[]): DeployItemView => base(item, dependsOn)
export const running = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...base(item, dependsOn),
  jobID: JOB,
  phase: 'Progressing',
})
export const succeeded = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...base(item, dependsOn),
  jobID: JOB,
  jobIDFinished: JOB,
})
export const failed = (item: string, dependsOn?: readonly string[]): DeployItemView => ({
  ...succeeded(item, dependsOn),
  phase: 'Failed',
})
export const leaving = (item: DeployItemView): DeployItemView => ({ ...item, deleting: true })
/** Of a type that Pawl serves, whose deployer answers at once. */
export const served = (item: DeployItemView): DeployItemView => ({ ...item, type: mockDeployer.type })
/** The same, whose deployer takes long. */
export const slow = (item: DeployItemView): DeployItemView => ({ ...item, type: manifestDeployer.type })
/** Runs a job that somebody else has given it. */
export const busy = (item: DeployItemView): DeployItemView => ({ ...item, jobID: 'other' })

const TARGET: ExecutionView = {
  version: '10',
  generation: 1,
  deleting: false,
  finalizers: [FINALIZER],
  phase: 'Progressing',
  jobID: JOB,
  jobIDFinished: BEFORE,
  observedGeneration: 1,
  lastError: undefined,
  items: [],
  problem: undefined,
  withoutUninstall: false,
  interruptRequested: false,
  hasParent: true,
  isUnbegun: false,
  hasExports: false,
}

export interface Called {
  /** Handed the job ID. */
  readonly triggered: string[]
  /** Those of quick deployers, one text for each call; in front of it whether they are hosted. */
  readonly deployed: string[]
  /** First tries of those that take long, likewise. */
  readonly sent: string[]
  readonly deleted: string[]
  readonly released: string[]
  readonly interrupted: string[]
  /** Ended because no deployer took them up. */
  readonly unclaimed: string[]
  /** Ended as succeeded because they are left out. */
  readonly skipped: string[]
  /** Interrupts that were taken off without ending anything. */
  forgotten: number
}

interface Given {
  readonly target?: Partial<ExecutionView>
  readonly act?: Partial<ExecutionActivities>
  /** The types that the run serves; absent: all of Pawl's. */
  readonly serves?: readonly string[]
  /** Told of each batch of items whose job begins, however it does. */
  readonly begins?: (items: readonly DeployItemView[]) => void
}

/** A pass over the given objects; the spec names the same items unless told otherwise. */
export function executionPass(
  deployItems: readonly DeployItemView[],
  { target = {}, act = {}, serves, begins = () => undefined }: Given = {},
): { readonly pass: ExecutionPass; readonly called: Called; readonly tracks: HeldTracks<ExecutionState> } {
  const called: Called = {
    triggered: [],
    deployed: [],
    sent: [],
    deleted: [],
    released: [],
    interrupted: [],
    unclaimed: [],
    skipped: [],
    forgotten: 0,
  }
  const tracks = new HeldTracks<ExecutionState>()
  const items = deployItems.map(({ item: name, type, dependsOn }) => ({ name, type, dependsOn }))
  const pass: ExecutionPass = {
    subject: { kind: 'Execution', uid: 'u', namespace: 'n', name: 'exec' },
    jobID: JOB,
    by: { workflowID: `execution/u/${JOB}`, runID: 'run', pass: 1, ...(serves !== undefined && { serves }) },
    act: { ...activities(() => pass.state, called, begins), ...act },
    state: { target: { ...TARGET, items, ...target }, deployItems },
    draft: { phase: 'Progressing', observedGeneration: 1, lastError: undefined, conditions: [], marks: [], fields: {} },
    background: tracks,
    wake: () => undefined,
    hosted: [],
  }
  return { pass, called, tracks }
}

const SUCCEEDED = { jobID: JOB, jobIDFinished: JOB, phase: 'Succeeded' }

/** As end-items.ts leaves an item. */
const ended = (item: DeployItemView): DeployItemView => ({
  ...item,
  jobID: JOB,
  jobIDFinished: JOB,
  phase: item.deleting ? 'DeleteFailed' : 'Failed',
  pickupMs: undefined,
})

export const wrote = (items: readonly DeployItemView[], gone: readonly string[] = []): BatchResult => ({
  items,
  gone,
  failures: [],
})

function activities(
  state: () => ExecutionState,
  called: Called,
  begins: NonNullable<Given['begins']>,
): ExecutionActivities {
  const chosen = ({ items }: ItemsInput) =>
    state().deployItems.filter(({ uid }) => items.some((one) => one.uid === uid))
  const batch = (list: string[], change: (item: DeployItemView) => DeployItemView) => (input: ItemsInput) => {
    list.push(...chosen(input).map(({ item }) => item))
    return Promise.resolve(wrote(chosen(input).map(change)))
  }
  const batchOf = (list: string[], given: readonly { readonly uid: string }[], isHosted = false) => {
    const items = state().deployItems.filter(({ uid }) => given.some((one) => one.uid === uid))
    list.push(`${isHosted ? 'hosted' : 'handed down'}: ${items.map(({ item }) => item).join(', ')}`)
    begins(items)
    return items
  }
  const refuse = (name: string) => () => Promise.reject(new Error(`${name} was not expected`))
  return {
    observeExecution: refuse('observeExecution'),
    beginJob: refuse('beginJob'),
    guardSubject: refuse('guardSubject'),
    applyDeployItems: refuse('applyDeployItems'),
    collectExports: refuse('collectExports'),
    tellPause: refuse('tellPause'),
    releaseItemsOfRemovedClusters: refuse('releaseItemsOfRemovedClusters'),
    triggerDeployItems(input) {
      begins(chosen(input))
      return batch(called.triggered, (item) => ({ ...item, jobID: JOB }))(input)
    },
    deleteDeployItems: batch(called.deleted, leaving),
    endUnclaimedItems: batch(called.unclaimed, ended),
    skipItems: batch(called.skipped, (item) => ({ ...item, ...SUCCEEDED })),
    interruptExecution: async (input) => ({
      ...(await batch(called.interrupted, ended)(input)),
      target: { ...state().target, version: '11', interruptRequested: false },
    }),
    forgetInterrupt() {
      called.forgotten += 1
      return Promise.resolve({ ...state().target, version: '11', interruptRequested: false })
    },
    deployMockItems({ items: given, isHosted }) {
      const items = batchOf(called.deployed, given, isHosted)
      const done = items.filter(({ deleting }) => !deleting).map((item) => ({ ...item, ...SUCCEEDED }))
      const gone = items.filter(({ deleting }) => deleting).map(({ uid }) => uid)
      return Promise.resolve({ items: done, gone, failures: [] })
    },
    // None ends in its first try.
    sendItems({ items, isHosted }) {
      batchOf(called.sent, items, isHosted)
      return Promise.resolve({ sent: [] })
    },
    forItem: () => ({
      applyItem: refuse('applyItem'),
      awaitItem: refuse('awaitItem'),
      uninstallItem: refuse('uninstallItem'),
    }),
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

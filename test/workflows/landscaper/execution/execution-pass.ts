// Builds passes of an Execution for tests: DeployItems in their states, and fake activities on a list in memory.
// Another deployer handles the type of the items, so they get the job ID; except items from `served` and `slow`, which
// the pass deploys.

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
/** A type that Pawl does not handle. */
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
/** Gives the item a type that Pawl handles, with a quick deployer. */
export const served = (item: DeployItemView): DeployItemView => ({ ...item, type: mockDeployer.type })
/** Gives the item a type that Pawl handles, with a slow deployer. */
export const slow = (item: DeployItemView): DeployItemView => ({ ...item, type: manifestDeployer.type })
/** Gives the item an unfinished job of another controller. */
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
  /** Items that got the job ID. */
  readonly triggered: string[]
  /** Items of quick deployers: one string per call, with the prefix `hosted` or `handed down`. */
  readonly deployed: string[]
  /** First attempts of items of slow deployers, in the same format. */
  readonly sent: string[]
  readonly deleted: string[]
  readonly released: string[]
  readonly interrupted: string[]
  /** Items that failed because no deployer picked them up. */
  readonly unclaimed: string[]
  /** Skipped items, which end as succeeded. */
  readonly skipped: string[]
  /** Number of interrupts that were removed without ending an item. */
  forgotten: number
}

interface Given {
  readonly target?: Partial<ExecutionView>
  readonly act?: Partial<ExecutionActivities>
  /** The types that the run handles; absent: all types of Pawl. */
  readonly serves?: readonly string[]
  /** Called with each batch of items whose job starts: triggered, handed down or hosted. */
  readonly begins?: (items: readonly DeployItemView[]) => void
}

/** A pass over these objects. By default, the spec has the same items. */
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

/** The item after end-items.ts has ended it. */
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
    // No item ends in its first attempt.
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

// Types and functions that the Execution's steps share, in addition to controller.gen.ts.

import { FINALIZER } from '../contract.ts'
import type { Activities } from '../../../activities/index.ts'
import type { BatchResult } from '../../../activities/landscaper/execution/item-batch.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { type Fault, type JobPass, joinOutcomes, done, type Outcome, joinNames } from '../../kit/index.ts'
import { formatPause } from '../pause.ts'
import type { DeployActivities } from '../deploy-item/pass.ts'
import type { ExecutionObservation } from './controller.gen.ts'

export interface ExecutionState extends ExecutionObservation {
  /** The hosting run has an interrupt request. */
  readonly isInterrupted?: boolean
  /** The hosting object is paused. */
  readonly isPaused?: true
}

export type ExecutionActivities = DeployActivities & ObservedActivities

type ObservedActivities = Pick<
  Activities,
  | 'observeExecution'
  | 'beginJob'
  | 'guardSubject'
  | 'applyDeployItems'
  | 'triggerDeployItems'
  | 'deleteDeployItems'
  | 'releaseDeployItems'
  | 'releaseItemsOfRemovedClusters'
  | 'interruptExecution'
  | 'forgetInterrupt'
  | 'tellPause'
  | 'endUnclaimedItems'
  | 'skipItems'
  | 'collectExports'
>

export type ExecutionPass = JobPass<ExecutionState, ExecutionActivities>

/** Applies the result of a batch to the pass's state, so that the next step sees it. Failures become faults. */
export function applyResult(pass: ExecutionPass, result: BatchResult): Outcome {
  const gone = new Set(result.gone)
  const byUid = new Map(pass.state.deployItems.filter((item) => !gone.has(item.name)).map((item) => [item.uid, item]))
  for (const item of result.items) byUid.set(item.uid, item)
  pass.state = { ...pass.state, deployItems: [...byUid.values()] }
  const faults: Fault[] = result.failures.map(({ object, code, message, retryable }) => ({
    code,
    message: `${object}: ${message}`,
    retryable,
  }))
  return faults.length === 0 ? done : joinOutcomes({ ...done, faults })
}

type ItemsActivity =
  'triggerDeployItems' | 'deleteDeployItems' | 'releaseDeployItems' | 'endUnclaimedItems' | 'skipItems'

/** Calls a batch activity until it has handled all items, and applies the results. Without items it makes no call. */
export async function callForItems(
  pass: ExecutionPass,
  name: ItemsActivity,
  items: readonly DeployItemView[],
): Promise<Outcome> {
  let outcome = done
  for (let asked = items; asked.length > 0;) {
    const result = await pass.act[name](name === 'triggerDeployItems' ? typedBatch(pass, asked) : batch(pass, asked))
    outcome = joinOutcomes(outcome, applyResult(pass, result))
    asked = itemsLeft(asked, result)
  }
  return outcome
}

/** The items that the call had no time for. */
export function itemsLeft(asked: readonly DeployItemView[], { left }: BatchResult): readonly DeployItemView[] {
  const formatNames = new Set(left)
  return asked.filter(({ name }) => formatNames.has(name))
}

/** Whether this job runs on the item: the item has the job ID, or a background activity is about to write it. */
export function isRunning({ jobID, background }: ExecutionPass, item: DeployItemView): boolean {
  return item.jobIDFinished !== jobID && (item.jobID === jobID || background.has(item.uid))
}

/** Whether a pause of the Execution or of its host prevents new work. */
export function isPaused({ state: { target, isPaused } }: ExecutionPass): boolean {
  return isPaused === true || target.paused !== undefined
}

/** Describes the pause. */
export function describePause({ state: { target } }: ExecutionPass): string {
  return target.paused === undefined ? 'its installation is paused' : formatPause(target.paused)
}

/**
 * Whether the item was never deployed, is not being deployed, and still has Pawl's finalizer. An item that only has other finalizers is waited for.
 */
export function isReleasable({ jobID, background }: ExecutionPass, item: DeployItemView): boolean {
  const isAlone = item.jobID !== jobID && !background.has(item.uid)
  return item.untouched === true && isAlone && item.finalizers.includes(FINALIZER)
}

/**
 * Makes all faults retryable. Used by steps whose failed writes must be repeated instead of failing the job, because no later pass would repeat them.
 */
export function retryFaults(outcome: Outcome): Outcome {
  return { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) }
}

/** The arguments of every batch activity. */
export function batch(pass: ExecutionPass, items: readonly DeployItemView[]) {
  return {
    by: pass.by,
    subject: pass.subject,
    jobID: pass.jobID,
    items: items.map(({ uid, item, name, version, finalizers, jobID }) => ({
      uid,
      item,
      name,
      version,
      finalizers,
      jobID,
    })),
  }
}

/** The same with types, for the activity that counts items by deployer. */
function typedBatch(pass: ExecutionPass, items: readonly DeployItemView[]) {
  const { items: named, ...others } = batch(pass, items)
  return { ...others, items: named.map((item, index) => ({ ...item, type: items[index]?.type ?? '' })) }
}

/** The same with clusters; items without a cluster are left out. */
export function clusteredBatch(pass: ExecutionPass, items: readonly DeployItemView[]) {
  const { items: named, ...others } = batch(pass, items)
  return {
    ...others,
    items: named.flatMap((item, index) => {
      const cluster = items[index]?.cluster
      return cluster === undefined ? [] : [{ ...item, cluster }]
    }),
  }
}

// All of it is one line in `kubectl get -o wide`; the items have all errors.
const ERRORS_SHOWN = 3

/** The failed items. @param items names, also of items without a DeployItem object. */
export function formatFailed(items: readonly string[]): string {
  return `deploy ${items.length === 1 ? 'item' : 'items'} ${items.map((item) => `"${item}"`).join(', ')} failed`
}

/** The errors of failed items, to append to their names; empty without errors. With a single item its name is not repeated. */
export function formatErrors(items: readonly Pick<DeployItemView, 'item' | 'error'>[]): string {
  const said = items.filter(({ error = '' }) => error !== '').slice(0, ERRORS_SHOWN)
  if (items.length === 1) return said.map(({ error = '' }) => `: ${error}`).join('')
  const texts = said.map(({ item, error = '' }) => `"${item}": ${error}`)
  return texts.length === 0 ? '' : `: ${texts.join(' | ')}`
}

/** The distinct error codes of the items. Source: spec/landscaper.md 1.16. */
export function errorCodes(items: readonly Pick<DeployItemView, 'codes'>[]): readonly string[] {
  return [...new Set(items.flatMap(({ codes = [] }) => codes))]
}

/** Formats item names for a message: at most 10. */
export function names(items: readonly { readonly item?: string; readonly name: string }[]): string {
  return joinNames(
    items.map(({ item, name }) => item ?? name),
    10,
  )
}

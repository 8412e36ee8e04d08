// What controller.cm cannot say of the Execution's controller: its activities, and what its actions share.

import { FINALIZER } from '../contract.ts'
import type { Activities } from '../../../activities/index.ts'
import type { BatchResult } from '../../../activities/landscaper/execution/item-batch.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { type Fault, type JobPass, joinOutcomes, done, type Outcome } from '../../kit/index.ts'
import { pauseText } from '../pause.ts'
import type { DeployActivities } from '../deploy-item/pass.ts'
import type { ExecutionObservation } from './controller.gen.ts'

export interface ExecutionState extends ExecutionObservation {
  /** Its host is asked to end the job. */
  readonly isInterrupted?: boolean
  /** Its host is paused. */
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

/** Takes what a batch wrote into the pass, so that the next step sees it; failures become faults. */
export function absorb(pass: ExecutionPass, result: BatchResult): Outcome {
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

/** Asks for something to be done with the items, in as many calls as that takes, and takes in what was written. None: no call. */
export async function absorbAll(
  pass: ExecutionPass,
  name: ItemsActivity,
  items: readonly DeployItemView[],
): Promise<Outcome> {
  let outcome = done
  for (let asked = items; asked.length > 0;) {
    const result = await pass.act[name](name === 'triggerDeployItems' ? typedBatch(pass, asked) : batch(pass, asked))
    outcome = joinOutcomes(outcome, absorb(pass, result))
    asked = leftOf(asked, result)
  }
  return outcome
}

/** Those of the items that a call had no time for. */
export function leftOf(asked: readonly DeployItemView[], { left }: BatchResult): readonly DeployItemView[] {
  const names = new Set(left)
  return asked.filter(({ name }) => names.has(name))
}

/** Runs this job: the item has it, or is worked on before its own first write brings it. */
export function isAtWork({ jobID, background: tracks }: ExecutionPass, item: DeployItemView): boolean {
  return item.jobIDFinished !== jobID && (item.jobID === jobID || tracks.has(item.uid))
}

/** Nothing more of it may begin: it is paused itself, or its host is. */
export function isHeldBack({ state: { target, isPaused } }: ExecutionPass): boolean {
  return isPaused === true || target.paused !== undefined
}

/** Who holds it back, in words. */
export function heldBackText({ state: { target } }: ExecutionPass): string {
  return target.paused === undefined ? 'its installation is paused' : pauseText(target.paused)
}

/**
 * Nothing was ever deployed of it nor is being, and its finalizer is still ours to take off; one that others hold beyond that is waited for.
 */
export function isToBeReleased({ jobID, background: tracks }: ExecutionPass, item: DeployItemView): boolean {
  const isAlone = item.jobID !== jobID && !tracks.has(item.uid)
  return item.untouched === true && isAlone && item.finalizers.includes(FINALIZER)
}

/** Faults that must not end the job: what a step could not write for good would be left as it is, and nobody would come back to it. */
export function insist(outcome: Outcome): Outcome {
  return { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) }
}

/** The arguments that every batch of items takes. */
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

/** The same, where it counts whose deployers they are for. */
function typedBatch(pass: ExecutionPass, items: readonly DeployItemView[]) {
  const { items: named, ...others } = batch(pass, items)
  return { ...others, items: named.map((item, index) => ({ ...item, type: items[index]?.type ?? '' })) }
}

/** The same of those that say where they are deployed to. */
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

// One line in `kubectl get -o wide`; who wants all errors looks at the items.
const ERRORS_SHOWN = 3

/** What items failed of, to be put behind their names; empty when none says so. */
export function causes(items: readonly Pick<DeployItemView, 'item' | 'error'>[]): string {
  const said = items.filter(({ error = '' }) => error !== '').slice(0, ERRORS_SHOWN)
  return said.map(({ item, error = '' }) => `; ${item}: ${error}`).join('')
}

/** The codes of what items failed of, each once. Source: spec/landscaper.md 1.16. */
export function codesOf(items: readonly Pick<DeployItemView, 'codes'>[]): readonly string[] {
  return [...new Set(items.flatMap(({ codes = [] }) => codes))]
}

/** Names of items for people, few enough to read. */
export function names(items: readonly { readonly item?: string; readonly name: string }[]): string {
  const all = items.map(({ item, name }) => item ?? name)
  return all.length <= 10 ? all.join(', ') : `${all.slice(0, 10).join(', ')} and ${all.length - 10} more`
}

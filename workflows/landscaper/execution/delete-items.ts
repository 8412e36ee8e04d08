// The steps of an Execution's deletion: deletes the DeployItems, uninstalls them in order, and removes the Execution's
// finalizer. "Release" means: remove Pawl's finalizer without uninstalling.
//
// Phase InitDelete only sends the DELETE requests for the DeployItems; their finalizers keep the objects until phase
// Deleting uninstalls them. Source: seeds/landscaper-execution-controller.txt "InitDelete".

import { again, done, fail, findCycle, GONE, isIdle, joinOutcomes, type Outcome, stop } from '../../kit/index.ts'
import {
  applyResult,
  callForItems,
  formatErrors,
  clusteredBatch,
  errorCodes,
  type ExecutionPass,
  describePause,
  isPaused,
  isReleasable,
  itemsLeft,
  names,
} from './pass.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyForDeletion } from './classify-deploy-items.ts'
import { waitForRunning, startLevels } from './start-items.ts'
import { FINALIZER } from '../contract.ts'

export async function deleteDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const items = pass.state.deployItems.filter((item) => !item.deleting)
  return await callForItems(pass, 'deleteDeployItems', items)
}

// Phase Deleting: uninstalls every item whose successors are deleted, in reverse order.
// Source: seeds/landscaper-execution-controller.txt "Deleting".
//
//   X1. A failed item stops new triggers; running items finish.
//   X2. If items are blocked while none runs and none is ready, the phase fails. The message has the cycle, or the
//       blocked items if there is no cycle, and the annotation that skips the uninstallation.
//   X3. An item that no deployer ever picked up (`untouched`) has nothing to uninstall: it is released at once and
//       orders no other item. So a graph that was cyclic from the start is deleted at once.
//   X4. An item whose cluster was removed is released too, if the item allows it (releaseItemsOfRemoved).
//   X5. During a pause (pause.ts) running items finish, and nothing else starts.

export async function triggerDeletion(pass: ExecutionPass): Promise<Outcome> {
  const { state } = pass
  if (state.deployItems.length === 0) return done
  if (isPaused(pass)) return await continueRunning(pass)
  if (state.target.withoutUninstall) return await callForItems(pass, 'releaseDeployItems', state.deployItems)
  const released = await releaseUntouched(pass)
  if (released.faults.length > 0) return released

  // X4
  const removed = await releaseItemsOfRemoved(pass, state.deployItems)

  const look = () => {
    const { failed, running, ready } = classesOf(pass)
    // An untouched item that still exists was released above, or Pawl's finalizer was missing: it waits for other
    // finalizers.
    const due = ready.filter((item) => item.untouched !== true && !removed.isHeld(item))
    return { running, ready: failed.length > 0 ? [] : due }
  }
  const taken = await startLevels(pass, look)
  const { running } = look()
  if (taken.faults.length > 0)
    return waitForRunning(
      taken,
      running,
      stop(`Pawl could not start to uninstall a deploy item; waiting for the running items: ${names(running)}`),
    )
  const found = outcomeOf(pass)
  return found.stopped === undefined ? found : joinOutcomes(found, taken, removed.outcome)
}

/** X5. With no ready items, `startLevels` only continues the running ones; their faults are retryable. */
async function continueRunning(pass: ExecutionPass): Promise<Outcome> {
  const look = () => ({ running: classesOf(pass).running, ready: [] })
  const taken = await startLevels(pass, look)
  if (taken.faults.length > 0) return taken
  const left = pass.state.deployItems
  return left.length === 0 ? done : joinOutcomes(stop(`${describePause(pass)}; not uninstalled: ${names(left)}`), taken)
}

/** X3. Possibly no deployer exists that could confirm that such an item has nothing to uninstall. */
async function releaseUntouched(pass: ExecutionPass): Promise<Outcome> {
  const untouched = pass.state.deployItems.filter((item) => isReleasable(pass, item))
  return await callForItems(pass, 'releaseDeployItems', untouched)
}

function outcomeOf(pass: ExecutionPass): Outcome {
  if (pass.state.deployItems.length === 0) return done
  const { failed, running, ready, blocked } = classesOf(pass)
  if (failed.length > 0) {
    return running.length > 0
      ? stop(`Pawl could not uninstall a deploy item; waiting for the running items: ${names(running)}`)
      : notDeleted(failed)
  }
  const waitedFor = [...running, ...ready]
  return waitedFor.length > 0
    ? stop(`waiting until these deploy items are uninstalled: ${names(waitedFor)}`)
    : stuckItems(blocked)
}

function notDeleted(failed: readonly DeployItemView[]): Outcome {
  const found = `Pawl could not uninstall ${names(failed)}${formatErrors(failed)}`
  return fail('DeployItemsNotDeleted', found, errorCodes(failed))
}

function classesOf({ state, jobID, background }: ExecutionPass) {
  return classifyForDeletion(state.deployItems, jobID, (uid) => background.has(uid))
}

function stuckItems(blocked: readonly DeployItemView[]): Outcome {
  const cycle = findCycle(blocked.map(({ item, dependsOn }) => ({ name: item, dependsOn })))
  const cause = cycle === undefined ? names(blocked) : `deploy items that depend on each other: ${cycle.join(' -> ')}`
  const wayOut =
    'to delete them without uninstalling, annotate the object that you deleted with landscaper.gardener.cloud/delete-without-uninstall: "true" and reconcile the root'
  const reason = cycle === undefined ? 'StuckDependencies' : 'CyclicDependencies'
  return fail(reason, `Pawl could not uninstall ${cause}; ${wayOut}`)
}

// Releases items whose cluster was removed, in deletions and for orphans (clean-up-orphans.ts): they have nothing to
// uninstall. The activity checks whether a cluster still exists. Source: spec/landscaper.md 2.8.
//
//   R1. The cluster of a running item is not checked. After a failed uninstallation it is checked again, because it may
//       have been removed meanwhile.
//   R2. An item whose cluster's state is unknown waits, without blocking other items; like a transient fault, it
//       schedules another pass.
//   R3. An item that has failed stays failed while its cluster's state is unknown, so that an interrupt ends the
//       deletion even if the check gets no answer.

export interface RemovedClusters {
  /** Faults of the check and of the writes; `done` if no item that is held can still finish the job (R3). */
  readonly outcome: Outcome
  /**
   * Whether the item must not be uninstalled now: its cluster's state is unknown, or Pawl's finalizer is removed and
   * other finalizers keep the item.
   */
  readonly isHeld: (item: DeployItemView) => boolean
}

export async function releaseItemsOfRemoved(
  pass: ExecutionPass,
  items: readonly DeployItemView[],
): Promise<RemovedClusters> {
  // The names of the items whose cluster exists.
  const there = new Set<string>()
  let outcome = done
  // Whether the item still has Pawl's finalizer.
  const isOurs = ({ finalizers }: DeployItemView) => finalizers.includes(FINALIZER)
  let asked: readonly DeployItemView[] = items.filter((item) => isCheckable(pass, item) && isOurs(item))
  while (asked.length > 0) {
    const result = await pass.act.releaseItemsOfRemovedClusters(clusteredBatch(pass, asked))
    outcome = joinOutcomes(outcome, applyResult(pass, result))
    for (const name of result.there) there.add(name)
    asked = itemsLeft(asked, result)
  }
  const isHeld = (item: DeployItemView) => isCheckable(pass, item) && !(isOurs(item) && there.has(item.name))
  // R3
  const waits = pass.state.deployItems.some((item) => isHeld(item) && item.jobIDFinished !== pass.jobID)
  return { outcome: waits ? outcome : done, isHeld }
}

/** R1. Items without `cluster` are uninstalled whether or not their cluster exists. */
function isCheckable({ background }: ExecutionPass, item: DeployItemView): boolean {
  return item.cluster !== undefined && item.deleting && isIdle(item) && !background.has(item.uid)
}

// Last step of Deleting: removes the Execution's finalizer (`guarded: false`) after all items are deleted.

export async function releaseExecution(pass: ExecutionPass): Promise<Outcome> {
  const { target } = pass.state
  if (!target.finalizers.includes(FINALIZER)) return stop('waiting until other controllers remove their finalizers')
  const left = await pass.act.guardSubject({
    by: pass.by,
    subject: pass.subject,
    version: target.version,
    finalizers: target.finalizers,
    guarded: false,
  })
  return left === undefined ? stop(GONE) : again(0)
}

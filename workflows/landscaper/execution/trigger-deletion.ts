// Phase Deleting: uninstalls every item whose successors are deleted, in reverse order.
// Source: seeds/landscaper-execution-controller.txt "Deleting".
//
//   X1. A failed item stops new triggers; running items finish.
//   X2. If items are blocked while none runs and none is ready, the phase fails, and the message has the cycle and the way out.
//   X3. An item that no deployer ever picked up has nothing to uninstall: it is released at once and orders no other item. So a graph
//       that was cyclic from
//       the start is deleted at once.
//   X4. An item whose cluster was removed is released too, if the item allows it (releaseOfRemoved).
//   X5. During a pause (pause.ts) running items finish, and nothing else starts.

import { done, fail, findCycle, joinOutcomes, type Outcome, stop } from '../../kit/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyForDeletion } from './classify-deploy-items.ts'
import {
  absorbAll,
  causes,
  codesOf,
  type ExecutionPass,
  heldBackText,
  isHeldBack,
  isToBeReleased,
  names,
} from './pass.ts'
import { releaseOfRemoved } from './release-of-removed.ts'
import { drained, takeUpLevels } from './take-up-items.ts'

export async function triggerDeletion(pass: ExecutionPass): Promise<Outcome> {
  const { state } = pass
  if (state.deployItems.length === 0) return done
  if (isHeldBack(pass)) return await holdBack(pass)
  if (state.target.withoutUninstall) return await absorbAll(pass, 'releaseDeployItems', state.deployItems)
  const released = await releaseUntouched(pass)
  if (released.faults.length > 0) return released

  // X4
  const removed = await releaseOfRemoved(pass, state.deployItems)

  const look = () => {
    const { failed, running, ready } = classesOf(pass)
    const due = ready.filter((item) => item.untouched !== true && !removed.isHeld(item))
    return { running, ready: failed.length > 0 ? [] : due }
  }
  const taken = await takeUpLevels(pass, look)
  const { running } = look()
  if (taken.faults.length > 0)
    return drained(
      taken,
      running,
      stop(`a deploy item could not be triggered; waiting for the running ones: ${names(running)}`),
    )
  const found = verdict(pass)
  return found.stopped === undefined ? found : joinOutcomes(found, taken, removed.outcome)
}

/** X5 */
async function holdBack(pass: ExecutionPass): Promise<Outcome> {
  const look = () => ({ running: classesOf(pass).running, ready: [] })
  const taken = await takeUpLevels(pass, look)
  if (taken.faults.length > 0) return taken
  const left = pass.state.deployItems
  return left.length === 0 ? done : joinOutcomes(stop(`${heldBackText(pass)}; still there: ${names(left)}`), taken)
}

/** X3. Such an item may have no deployer that could confirm that it has nothing to uninstall. */
async function releaseUntouched(pass: ExecutionPass): Promise<Outcome> {
  const untouched = pass.state.deployItems.filter((item) => isToBeReleased(pass, item))
  return await absorbAll(pass, 'releaseDeployItems', untouched)
}

function verdict(pass: ExecutionPass): Outcome {
  if (pass.state.deployItems.length === 0) return done
  const { failed, running, ready, blocked } = classesOf(pass)
  if (failed.length > 0) {
    return running.length > 0
      ? stop(`a deploy item could not be uninstalled; waiting for the running ones: ${names(running)}`)
      : notDeleted(failed)
  }
  const waitedFor = [...running, ...ready]
  return waitedFor.length > 0 ? stop(`waiting for ${names(waitedFor)} to be uninstalled`) : stuck(blocked)
}

function notDeleted(failed: readonly DeployItemView[]): Outcome {
  const found = `deploy items could not be uninstalled: ${names(failed)}${causes(failed)}`
  return fail('DeployItemsNotDeleted', found, codesOf(failed))
}

function classesOf({ state, jobID, background: tracks }: ExecutionPass) {
  return classifyForDeletion(state.deployItems, jobID, (uid) => tracks.has(uid))
}

function stuck(blocked: readonly DeployItemView[]): Outcome {
  const cycle = findCycle(blocked.map(({ item, dependsOn }) => ({ name: item, dependsOn })))
  const found = cycle === undefined ? names(blocked) : cycle.join(' -> ')
  const wayOut =
    'annotate what was deleted, the root or this execution alone, with landscaper.gardener.cloud/delete-without-uninstall: "true" and reconcile the root to let them go'
  return fail(
    'CyclicDependencies',
    `deploy items could not be uninstalled because they depend on each other: ${found}; ${wayOut}`,
  )
}

// Deleting: hands the job ID to every deploy item whose successors are gone, in reverse order.
// Source: seeds/landscaper-execution-controller.txt "Deleting".
//
//   X1. A failed item stops new triggers; items already running are left to finish.
//   X2. Nothing running and nothing ready, yet items blocked: stuck, so the phase fails, with the cycle's path and the way out.

import { done, fail, findCycle, type Outcome, stop } from '../../kit/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyForDeletion } from './classify-deploy-items.ts'
import { absorb, batch, causes, type ExecutionPass, names } from './pass.ts'

export async function triggerDeletion(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID, act } = pass
  if (state.deployItems.length === 0) return done
  if (state.target.withoutUninstall) return absorb(pass, await act.releaseDeployItems(batch(pass, state.deployItems)))

  const { failed, running, ready, blocked } = classifyForDeletion(state.deployItems, jobID)
  if (failed.length > 0) {
    return running.length > 0
      ? stop(`a deploy item could not be uninstalled; waiting for the running ones: ${names(running)}`)
      : fail('DeployItemsNotDeleted', `deploy items could not be uninstalled: ${names(failed)}${causes(failed)}`)
  }
  if (ready.length === 0 && running.length > 0) return stop(`waiting for ${names(running)} to be uninstalled`)
  if (ready.length === 0) return stuck(blocked)
  // Nothing was ever deployed of these, and nobody may be there to say so.
  const untouched = ready.filter((item) => item.untouched === true)
  if (untouched.length > 0) {
    const released = absorb(pass, await act.releaseDeployItems(batch(pass, untouched)))
    return released.faults.length > 0 ? released : await triggerDeletion(pass)
  }
  const triggered = absorb(pass, await act.triggerDeployItems(batch(pass, ready)))
  return triggered.faults.length > 0
    ? triggered
    : stop(`waiting for ${names([...running, ...ready])} to be uninstalled`)
}

function stuck(blocked: readonly DeployItemView[]): Outcome {
  const cycle = findCycle(blocked.map(({ item, dependsOn }) => ({ name: item, dependsOn })))
  const found = cycle === undefined ? names(blocked) : cycle.join(' -> ')
  const wayOut =
    'annotate the root with landscaper.gardener.cloud/delete-without-uninstall: "true" and reconcile it to let them go'
  return fail(
    'CyclicDependencies',
    `deploy items could not be uninstalled because they depend on each other: ${found}; ${wayOut}`,
  )
}

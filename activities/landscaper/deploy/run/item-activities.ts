// The activities of one item: each joins the attempt that sendItems started in this process, or makes attempts until the item has ended. See
// run-item.ts.

import type { LandscaperDeps } from '../../deps.ts'
import type { Deployer, ItemAct } from './deployer.ts'
import { withHeartbeat } from './heartbeat.ts'
import { type ItemCall, type ItemInput, type ItemResult, runItem } from './run-item.ts'
import { joined, keyOf, type Sending } from './sending.ts'

export const itemActivities = (deps: LandscaperDeps, deployers: readonly Deployer[], sending: Sending) => {
  const run = (input: ItemInput, act: ItemAct): Promise<ItemResult> =>
    withHeartbeat((signal, attempt) => goOn(deps, deployers, sending, { input, act, signal, attempt }))
  return {
    /** Deploys an item and checks it once. @throws retryable: `DeployFailed`, failures of the API server and the journal. */
    applyItem: (input: ItemInput) => run(input, 'install'),
    /** Checks a deployed item. @throws retryable: `NotReady`, and as applyItem. */
    awaitItem: (input: ItemInput) => run(input, 'check'),
    /** Uninstalls an item, one step per call. @throws retryable: `NotGone`, and as applyItem. */
    uninstallItem: (input: ItemInput) => run(input, 'uninstall'),
  }
}

/** Joins the attempt of this process, if it exists, or makes one. @throws ApplicationFailure, see itemActivities. */
export async function goOn(
  deps: LandscaperDeps,
  deployers: readonly Deployer[],
  sending: Sending,
  call: ItemCall,
): Promise<ItemResult> {
  const begun = sending.take(keyOf(call.input, call.act))
  return begun === undefined ? await runItem(deps, deployers, call) : await joined(begun, call.signal)
}

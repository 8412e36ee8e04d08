// Runs one item of a deployer that works on another cluster, when the item's first attempt has not ended it (sendItems): deploys or uninstalls the
// item,
// and waits for the result. Each step is an activity that Temporal retries until the item has ended; the activities handle timeouts and errors.
// Source: docs/architecture.md "Subjects and routes" (one slow or failing item never delays its siblings).

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { StateChange } from '../../kit/index.ts'
import type { DeployPass, DeployState } from './pass.ts'

export interface ItemProgress {
  /** The item was deployed and is not ready. */
  readonly isSent: boolean
  /** See `deployItems`. */
  readonly isHosted: boolean
}

export async function runItem<State extends DeployState>(
  pass: Pick<DeployPass<State>, 'by' | 'subject' | 'jobID' | 'act'>,
  { uid, item, name, uninstalls }: DeployItemView,
  { isSent, isHosted }: ItemProgress,
): Promise<StateChange<State>> {
  const { by, subject, jobID } = pass
  const act = pass.act.forItem(item)
  const input = { by, jobID, uid, namespace: subject.namespace, name, isHosted }
  const send = async () => (uninstalls ? await act.uninstallItem(input) : await act.applyItem(input))
  const sent = isSent ? undefined : await send()
  const { item: after } = sent === undefined || sent.isWaiting ? await act.awaitItem(input) : sent
  return (state) => withItem(state, uid, after)
}

/** @param after undefined when the item is deleted. */
export function withItem<State extends DeployState>(
  state: State,
  uid: string,
  after: DeployItemView | undefined,
): State {
  const deployItems = state.deployItems.flatMap((one) => (one.uid !== uid ? [one] : after === undefined ? [] : [after]))
  return { ...state, deployItems }
}

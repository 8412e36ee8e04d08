// One item of a deployer that works on another cluster, when its first try has not ended it (deploy-items.ts): deploy it, or take it away, and
// wait for what that leads to.
// Each step is an activity, retried by the server until the item has ended: time-outs and errors are the activities' to see.
// Source: docs/architecture.md "Subjects and routes" (one slow or failing item never delays its siblings).

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { StateChange } from '../../kit/index.ts'
import type { DeployPass, DeployState } from './pass.ts'

export interface ItemProgress {
  /** It was deployed, and is not ready. */
  readonly isSent: boolean
  /** As for `deployItems`. */
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

/** @param after undefined = the item is gone. */
export function withItem<State extends DeployState>(
  state: State,
  uid: string,
  after: DeployItemView | undefined,
): State {
  const deployItems = state.deployItems.flatMap((one) => (one.uid !== uid ? [one] : after === undefined ? [] : [after]))
  return { ...state, deployItems }
}

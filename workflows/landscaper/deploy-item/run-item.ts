// One item of a deployer that works on another cluster, when its first try has not ended it (deploy-items.ts): deploy it, or take it away, and
// wait for what that leads to.
// Each step is an activity, retried by the server until the item has ended: time-outs and errors are the activities' to see.
// Source: docs/architecture.md "Subjects and routes" (one slow or failing item never delays its siblings).

import type { GroupItem } from '../../../activities/landscaper/deploy/run/views.ts'
import type { Change } from '../../kit/index.ts'
import type { DeployGroupPass, DeployGroupState } from './pass.ts'

/** @param isSent it was deployed, and is not ready. */
export async function runItem(
  pass: DeployGroupPass,
  { uid, item, name, uninstalls }: GroupItem,
  isSent: boolean,
): Promise<Change<DeployGroupState>> {
  const { by, subject, jobID } = pass
  const act = pass.act.forItem(item)
  const input = { by, jobID, uid, namespace: subject.namespace, name }
  const send = async () => (uninstalls ? await act.uninstallItem(input) : await act.applyItem(input))
  const sent = isSent ? undefined : await send()
  const { item: after } = sent === undefined || sent.isWaiting ? await act.awaitItem(input) : sent
  return (state) => withItem(state, uid, after)
}

/** @param after undefined = the item is gone. */
export function withItem(state: DeployGroupState, uid: string, after: GroupItem | undefined): DeployGroupState {
  const items = state.items.flatMap((one) => (one.uid !== uid ? [one] : after === undefined ? [] : [after]))
  return { ...state, items }
}

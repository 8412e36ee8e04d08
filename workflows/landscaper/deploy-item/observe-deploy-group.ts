// Observe tells the items of a group once, then only what changed; the run keeps the rest.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { By, JobInput } from '../../kit/index.ts'
import type { DeployGroupActivities, DeployGroupState } from './pass.ts'

/** @param latest what the run knows; a track that ends during the look changes it. */
export async function observeDeployGroup(
  act: Pick<DeployGroupActivities, 'observeDeployGroup'>,
  { subject, jobID }: JobInput,
  by: By,
  latest: () => DeployGroupState | undefined,
): Promise<DeployGroupState> {
  const before = latest()?.deployItems ?? []
  const known = Object.fromEntries(before.map(({ uid, version }) => [uid, version]))
  const { changed, gone, isOver } = await act.observeDeployGroup({ by, subject, jobID, known })
  const byUid = new Map(
    (latest()?.deployItems ?? []).filter(({ uid }) => !gone.includes(uid)).map((item) => [item.uid, item]),
  )
  for (const item of changed) if (!isOlder(item, byUid.get(item.uid))) byUid.set(item.uid, item)
  // By name, so that every pass treats the items in the same order.
  return { deployItems: [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1)), isOver }
}

function isOlder({ version }: DeployItemView, than: DeployItemView | undefined): boolean {
  return than !== undefined && Number(version) < Number(than.version)
}

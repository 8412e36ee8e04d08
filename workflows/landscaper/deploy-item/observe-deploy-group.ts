// Observe tells the items of a group once, then only what changed; the run keeps the rest.

import type { GroupItem } from '../../../activities/landscaper/deploy/run/views.ts'
import type { By, JobInput } from '../../kit/index.ts'
import type { DeployGroupActivities, DeployGroupState } from './pass.ts'

/** @param latest what the run knows; a track that ends during the look changes it. */
export async function observeDeployGroup(
  act: Pick<DeployGroupActivities, 'observeDeployGroup'>,
  { subject, jobID }: JobInput,
  by: By,
  latest: () => DeployGroupState | undefined,
): Promise<DeployGroupState> {
  const before = latest()?.items ?? []
  const known = Object.fromEntries(before.map(({ uid, version }) => [uid, version]))
  const { changed, gone, isOver } = await act.observeDeployGroup({ by, subject, jobID, known })
  const byUid = new Map(
    (latest()?.items ?? []).filter(({ uid }) => !gone.includes(uid)).map((item) => [item.uid, item]),
  )
  for (const item of changed) if (!isOlder(item, byUid.get(item.uid))) byUid.set(item.uid, item)
  // By name, so that every pass treats the items in the same order.
  return { items: [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1)), isOver }
}

function isOlder({ version }: GroupItem, than: GroupItem | undefined): boolean {
  return than !== undefined && Number(version) < Number(than.version)
}

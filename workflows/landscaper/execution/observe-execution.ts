// Observes the Execution and its items. The activity returns the item list once, then only changes; the run keeps the rest.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { By, JobInput } from '../../kit/index.ts'
import type { ExecutionActivities, ExecutionState } from './pass.ts'

export async function observeExecution(
  act: Pick<ExecutionActivities, 'observeExecution'>,
  { subject }: JobInput,
  by: By,
  latest: () => ExecutionState | undefined,
): Promise<ExecutionState | undefined> {
  const previous = latest()
  const generation = previous && { generation: previous.target.generation }
  const known = versionsOf(previous?.deployItems ?? [])
  const { target, ...news } = await act.observeExecution({ by, subject, known, ...generation })
  if (target === undefined) return undefined
  const { items = previous?.target.items ?? [] } = target
  return { target: { ...target, items }, deployItems: withChanges(latest()?.deployItems ?? [], news) }
}

/** The versions of the items that the run knows, so that the next observation returns only newer ones. */
export function versionsOf(items: readonly DeployItemView[]): Readonly<Record<string, string>> {
  return Object.fromEntries(items.map(({ uid, version }) => [uid, version]))
}

export interface ItemChanges {
  readonly changed: readonly DeployItemView[]
  /** uids */
  readonly gone: readonly string[]
}

/**
 * Merges an observation into the known items. Sorts by name, so that every pass handles the items in the same order.
 *
 * @param latest the items known after the observation; a background activity may have returned a newer version meanwhile.
 */
export function withChanges(
  latest: readonly DeployItemView[],
  { changed, gone }: ItemChanges,
): readonly DeployItemView[] {
  const left = new Set(gone)
  const byUid = new Map(latest.filter(({ uid }) => !left.has(uid)).map((item) => [item.uid, item]))
  for (const item of changed) if (!isOlder(item, byUid.get(item.uid))) byUid.set(item.uid, item)
  return [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
}

function isOlder({ version }: DeployItemView, than: DeployItemView | undefined): boolean {
  return than !== undefined && Number(version) < Number(than.version)
}

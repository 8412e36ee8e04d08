// Observes the item. A background activity that ends during the observation may return a newer version.

import type { By, JobInput } from '../../kit/index.ts'
import { type ItemRunActivities, type ItemState, itemState } from './pass.ts'

/** @param latest returns the state that the run knows. @returns undefined when the item is deleted. */
export async function observeItem(
  act: Pick<ItemRunActivities, 'observeDeployItem'>,
  { subject }: JobInput,
  by: By,
  latest: () => ItemState | undefined,
): Promise<ItemState | undefined> {
  const found = await act.observeDeployItem({ by, subject })
  const known = latest()
  if (found === undefined || known?.deployItems.length === 0) return undefined
  const [item = found] = known?.deployItems ?? []
  return itemState(Number(item.version) > Number(found.version) ? item : found)
}

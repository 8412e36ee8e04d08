// The item as it is. A track that ends during the look may know better.

import type { By, JobInput } from '../../kit/index.ts'
import { type ItemRunActivities, type ItemState, itemState } from './pass.ts'

/** @param latest what the run knows. @returns undefined when the item is gone. */
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

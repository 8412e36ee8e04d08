// Observe returns the graph once, then only what changed; the run keeps the rest.

import type { By, JobInput } from '../../kit/index.ts'
import type { ExecutionActivities, ExecutionState } from './pass.ts'

export async function observeExecution(
  act: ExecutionActivities,
  { subject }: JobInput,
  by: By,
  previous: ExecutionState | undefined,
): Promise<ExecutionState | undefined> {
  const before = previous?.deployItems ?? []
  const known = Object.fromEntries(before.map((item) => [item.uid, item.version]))
  const generation = previous && { generation: previous.target.generation }
  const { target, changed, gone } = await act.observeExecution({ by, subject, known, ...generation })
  if (target === undefined) return undefined
  const { items = previous?.target.items ?? [] } = target
  const byUid = new Map(before.filter((item) => !gone.includes(item.uid)).map((item) => [item.uid, item]))
  for (const item of changed) byUid.set(item.uid, item)
  // By name, so that every pass treats the items in the same order.
  const deployItems = [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
  return { target: { ...target, items }, deployItems }
}

// The delay before the next pass while a problem is new: files of ConfigMaps, new processes and deletions usually need only seconds.

import type { ProcessGroupCondition } from '../contract.ts'
import { type ClusterContext, processGroupsIn } from './context.ts'
import { conditionSince, isMarked } from './process-groups.ts'

const NEW_SECONDS = 30
const EAGER_MS = 1000

/** @param usualMs the delay if no process group has got one of the conditions in the last 30 s. */
export function eagerDelay(context: ClusterContext, types: readonly ProcessGroupCondition[], usualMs: number): number {
  const isNew = processGroupsIn(context).some((group) =>
    types.some((type) => {
      const since = isMarked(group) ? undefined : conditionSince(group, type)
      return since !== undefined && context.now.seconds - since < NEW_SECONDS
    }),
  )
  return isNew ? EAGER_MS : usualMs
}

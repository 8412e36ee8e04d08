// The delay before the next pass while a problem is new: files of ConfigMaps, new processes, deletions and small exclusions usually need only seconds.

import type { DatabaseStatus } from '../../../activities/foundationdb/database/status.ts'
import type { ProcessGroupCondition } from '../contract.ts'
import { type ClusterContext, processGroupsIn } from './context.ts'
import type { ProcessGroupStatus } from './kind.ts'
import { conditionSince, hasPassed, isMarked } from './process-groups.ts'
import { USUAL_DELAY_MS } from './requeue.ts'

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

/** The delay while process groups leave: short after their removal has begun, and after a recovery, which interrupts the data distribution. */
export function eagerRemovalDelay(
  { now }: ClusterContext,
  status: DatabaseStatus | undefined,
  leaving: readonly ProcessGroupStatus[],
): number {
  const isNew =
    (status?.recovery.secondsSince ?? Infinity) < NEW_SECONDS ||
    leaving.some(
      ({ removalTimestamp }) => removalTimestamp !== undefined && !hasPassed(removalTimestamp, NEW_SECONDS, now),
    )
  return isNew ? EAGER_MS : USUAL_DELAY_MS
}

// The marks of process groups that are being removed. Source: spec/foundationdb.md 1.2.

import type { ProcessGroupStatus } from '../cluster/kind.ts'

/** Whether the process group is to be removed. */
export function isMarked({ removalTimestamp, remove }: ProcessGroupStatus): boolean {
  return removalTimestamp !== undefined || remove === true
}

/** Whether the exclusion is complete or not needed. */
export function isExcluded({ exclusionTimestamp, excluded, exclusionSkipped }: ProcessGroupStatus): boolean {
  return exclusionTimestamp !== undefined || excluded === true || exclusionSkipped === true
}

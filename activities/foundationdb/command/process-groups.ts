// Finds process groups of a cluster by the words of a command, and those that have failed.

import type { FoundationDBCluster, ProcessGroupStatus } from '../../../workflows/foundationdb/cluster/kind.ts'
import { FAILURE_CONDITIONS } from '../../../workflows/foundationdb/contract.ts'
import { parseProcessGroupID, podName } from '../../../workflows/foundationdb/model/process-group-id.ts'
import { isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import { titleOf } from './clusters.ts'

const MOST_NAMES = 20
/** Shorter problems may end by themselves. */
export const FAILURE_SECONDS = 300

export function processGroupsOf({ status }: FoundationDBCluster): readonly ProcessGroupStatus[] {
  return status?.processGroups ?? []
}

/** Undefined if the ID has another form. */
export function podNameOf({ metadata: { name } }: FoundationDBCluster, id: string): string | undefined {
  return parseProcessGroupID(id) === undefined ? undefined : podName(name, id)
}

/** @param words IDs of process groups, or names of their Pods. @throws an Error that names the words without a process group. */
export function processGroupsNamed(
  cluster: FoundationDBCluster,
  words: readonly string[],
): readonly ProcessGroupStatus[] {
  const groups = processGroupsOf(cluster)
  const byName = new Map(
    groups.flatMap((group) => {
      const pod = podNameOf(cluster, group.processGroupID)
      return [[group.processGroupID, group] as const, ...(pod === undefined ? [] : [[pod, group] as const])]
    }),
  )
  const unknown = words.filter((word) => !byName.has(word))
  if (unknown.length > 0) {
    const names = unknown.map((word) => JSON.stringify(word)).join(', ')
    const ids = groups.map(({ processGroupID }) => processGroupID)
    const expected = ids.length === 0 ? 'the cluster has no process groups' : `expected ${joinNames(ids, MOST_NAMES)}`
    throw new Error(`${titleOf(cluster)}: status.processGroups: ${names} is missing; ${expected}`)
  }
  return [...new Set(words.flatMap((word) => byName.get(word) ?? []))]
}

/** Process groups with a problem that a replacement may end, for more than five minutes. Marked ones are left out. */
export function failedProcessGroups(cluster: FoundationDBCluster, nowSeconds: number): readonly ProcessGroupStatus[] {
  return processGroupsOf(cluster).filter(
    (group) =>
      !isMarked(group) &&
      (group.processGroupConditions ?? []).some(
        ({ type, timestamp = 0 }) => FAILURE_CONDITIONS.has(type ?? '') && nowSeconds - timestamp > FAILURE_SECONDS,
      ),
  )
}

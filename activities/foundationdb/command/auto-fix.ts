// The repairs of `pawl fdb analyze --auto-fix`, each after a question. Source: spec/foundationdb.md 5.
//
//   F1. Process groups are replaced if they have failed for more than five minutes, or if their Pod is stuck.
//   F2. Other Pods are deleted if a container has ended with an error more than 30 minutes ago; the controller recreates them.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import type { CommandStart } from '../../command.ts'
import { isNotFound } from '../../kube/kube-error.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { titleOf } from './clusters.ts'
import { isStuck } from './findings.ts'
import { type ClusterPod, PODS, processGroupIDOf } from './pods.ts'
import { failedProcessGroups, processGroupsOf } from './process-groups.ts'
import { removeAfterQuestion } from './removal.ts'

const ENDED_MS = 1_800_000
const MOST_NAMES = 20

/** @returns lines about the repairs. @throws errors of the API server. */
export async function fixAfterQuestion(
  start: CommandStart,
  cluster: FoundationDBCluster,
  pods: readonly ClusterPod[],
): Promise<readonly string[]> {
  const nowMs = Date.now()
  const stuck = new Set(pods.filter((pod) => isStuck(pod, nowMs)).map((pod) => processGroupIDOf(cluster, pod)))
  const failed = new Set(failedProcessGroups(cluster, nowMs / 1000))
  // F1
  const groups = processGroupsOf(cluster).filter(
    (group) => failed.has(group) || (stuck.has(group.processGroupID) && !isMarked(group)),
  )
  const replaced = new Set(groups.map(({ processGroupID }) => processGroupID))
  // F2
  const ended = pods.filter(
    (pod) => hasEnded(pod, nowMs) && !isStuck(pod, nowMs) && !replaced.has(processGroupIDOf(cluster, pod) ?? ''),
  )
  const lines: string[] = []
  if (groups.length > 0) {
    const done = await removeAfterQuestion(start, [{ cluster, groups, hasExclusion: true }])
    lines.push(...done.lines)
  }
  if (ended.length > 0) lines.push(await deleteAfterQuestion(start, cluster, ended))
  return lines.length > 0 ? lines : [`${titleOf(cluster)}: found nothing that --auto-fix can repair`]
}

function hasEnded({ status }: ClusterPod, nowMs: number): boolean {
  return (status?.containerStatuses ?? []).some(({ ready, state }) => {
    const { exitCode = 0, finishedAt = '' } = state?.terminated ?? {}
    return ready !== true && exitCode !== 0 && nowMs - Date.parse(finishedAt) > ENDED_MS
  })
}

async function deleteAfterQuestion(
  start: CommandStart,
  cluster: FoundationDBCluster,
  pods: readonly ClusterPod[],
): Promise<string> {
  const names = joinNames(
    pods.map(({ metadata }) => metadata.name),
    MOST_NAMES,
  )
  if (!(await start.confirm(`Delete the Pods ${names} of ${titleOf(cluster)}?`))) return `the Pods ${names} stay`
  for (const { metadata } of pods) await deletePod(start, cluster.metadata.namespace, metadata)
  return `deleted the Pods ${names}; the controller recreates them`
}

async function deletePod(
  { kube }: CommandStart,
  namespace: string,
  { name, uid }: ClusterPod['metadata'],
): Promise<void> {
  try {
    await kube.request('DELETE', resourcePath(PODS, namespace, name), { body: { preconditions: { uid } } })
  } catch (error) {
    // The Pod is gone already.
    if (!isNotFound(error)) throw error
  }
}

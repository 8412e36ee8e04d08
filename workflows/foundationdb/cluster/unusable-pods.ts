// Pods whose processes never run again: only a new Pod helps. Source: spec/foundationdb.md 2.24.
//
//   U1. A Pod that has ended, such as after an eviction: the kubelet does not start its containers again.
//   U2. After an upgrade, a process that still runs the old version: `kill` cannot reach it, because its protocol is incompatible.

import { hostOf, parseAddress } from '../database/process-address.ts'
import { isProtocolCompatible } from '../model/version.ts'
import { availableDatabase, type ClusterContext, podsByGroup, processGroupsIn } from './context.ts'
import { hostsOf } from './exclusion-targets.ts'
import type { ProcessGroupStatus } from './kind.ts'
import { hasEnded, isTerminating, type ObservedPod } from './observed.ts'
import { conditionSince, hasPassed, isMarked } from './process-groups.ts'

/** The kubelet reports the end of a Pod before its containers are removed. */
const ENDED_SECONDS = 30
/** Processes of a new Pod need some time until they report. */
const NEW_POD_SECONDS = 60

export async function unusablePods(context: ClusterContext): Promise<readonly ObservedPod[]> {
  const pods = podsByGroup(context)
  const members = processGroupsIn(context).flatMap((group) => {
    const pod = pods.get(group.processGroupID)
    return pod === undefined || isMarked(group) || isTerminating(pod) ? [] : [{ group, pod }]
  })
  const incompatible = await incompatibleHosts(context)
  return members
    .filter(({ group, pod }) => isOver(context, group, pod) || isLeftOver(context, group, { pod, incompatible }))
    .map(({ pod }) => pod)
}

/** U1 */
function isOver({ now }: ClusterContext, group: ProcessGroupStatus, pod: ObservedPod): boolean {
  const since = conditionSince(group, 'PodFailing')
  return hasEnded(pod) && since !== undefined && now.seconds - since >= ENDED_SECONDS
}

/** U2 */
function isLeftOver(
  { settings, now }: ClusterContext,
  group: ProcessGroupStatus,
  { pod, incompatible }: { readonly pod: ObservedPod; readonly incompatible: ReadonlySet<string> },
): boolean {
  const since = conditionSince(group, 'MissingProcesses')
  return (
    since !== undefined &&
    now.seconds - since >= settings.automation.ignoreMissingProcessesSeconds &&
    hasPassed(pod.metadata.creationTimestamp, NEW_POD_SECONDS, now) &&
    hostsOf(group).some((host) => incompatible.has(host))
  )
}

/** Empty until the upgrade has restarted the processes: before, the processes of the new version are the incompatible ones. */
async function incompatibleHosts(context: ClusterContext): Promise<ReadonlySet<string>> {
  const { settings, status } = context
  const isUpgrading = !isProtocolCompatible(status.runningVersion ?? settings.version, settings.version)
  const database = isUpgrading ? undefined : await availableDatabase(context)
  const hosts = (database?.incompatibleConnections ?? []).flatMap((text) => {
    const address = parseAddress(text)
    return address === undefined ? [] : [hostOf(address)]
  })
  return new Set(hosts)
}

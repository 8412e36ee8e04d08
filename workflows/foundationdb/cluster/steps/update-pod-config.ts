// Step 14. Confirms that each Pod has the current files, through its sidecar, and records this in an annotation. Source:
// seeds/foundationdb-operator-technical-design.txt UpdatePodConfig; spec/foundationdb.md 2.14, 4.15.
//
//   U1. All Pods are tried before the pass stops.
//   U2. The annotation does not prove that a Pod has the binary of an upgrade and a monitor configuration that starts it. The step confirms the files again
//       while the processes of such a Pod wait for their restart.
//   U3. A process group that is to be removed is not updated, so marking it unblocks the pass.

import type { PodFiles, PodFilesResult } from '../../../../activities/foundationdb/pod-client/sync-pods.ts'
import {
  LAST_CONFIG_MAP_ANNOTATION,
  MONITOR_CONFIGURATION_ANNOTATION,
  OUTDATED_CONFIG_MAP_ANNOTATION,
} from '../../contract.ts'
import { isSameUnifiedConfiguration } from '../../resources/unified-configuration.ts'
import { clusterStep } from '../cluster-step.ts'
import { changeProcessGroups, type ClusterContext, podsByGroup, processGroupsIn } from '../context.ts'
import { eagerDelay } from '../eager-delay.ts'
import { expectedObjects, type ExpectedObjects } from '../expected-objects.ts'
import { hasCopiedBinary, isTerminating, type ObservedPod, substitutionsOf } from '../observed.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { hasCondition, isMarked, withConditions } from '../process-groups.ts'
import { stopFor, USUAL_DELAY_MS } from '../requeue.ts'

export const updatePodConfig = clusterStep('UpdatePodConfig', async (context) => {
  const expected = expectedObjects(context)
  const outdated = outdatedPods(context, expected)
  if (outdated.length === 0) return undefined
  const results =
    context.settings.imageType === 'unified'
      ? outdated.map((one) => monitorResult(expected, one))
      : await sync(context, expected, outdated)
  const byName = new Map(results.map((result) => [result.pod, result]))
  for (const one of outdated) await record(context, { ...one, result: byName.get(one.pod.metadata.name) })
  const waiting = outdated.filter(({ pod }) => byName.get(pod.metadata.name)?.state !== 'current')
  if (waiting.length === 0) return undefined
  const names = waiting.map(({ pod }) => pod.metadata.name).join(', ')
  return stopFor(
    `Waiting for Pods to receive the ConfigMap: ${names}`,
    eagerDelay(context, ['IncorrectConfigMap'], USUAL_DELAY_MS),
  )
})

interface OutdatedPod {
  readonly pod: ObservedPod
  readonly group: ProcessGroupStatus
  /** Of the ConfigMap's keys that the Pod uses. */
  readonly hash: string
}

/** U2, U3. Without a connection string there are no files to confirm. */
function outdatedPods(context: ClusterContext, expected: ExpectedObjects): readonly OutdatedPod[] {
  if ((context.status.connectionString ?? '') === '') return []
  const pods = podsByGroup(context)
  return processGroupsIn(context).flatMap((group) => {
    const pod = pods.get(group.processGroupID)
    if (pod === undefined || isMarked(group) || isTerminating(pod)) return []
    const hash = expected.podOf(group).configMapHash
    const isCurrent = pod.metadata.annotations?.[LAST_CONFIG_MAP_ANNOTATION] === hash
    const isUnreachable = hasCondition(group, 'SidecarUnreachable')
    const isUpgraded = hasCondition(group, 'IncorrectCommandLine') && hasCopiedBinary(pod)
    return isCurrent && !isUnreachable && !isUpgraded ? [] : [{ pod, group, hash }]
  })
}

/** The monitor of unified images reads the ConfigMap itself, and reports its configuration in an annotation. */
function monitorResult(expected: ExpectedObjects, { pod, group }: OutdatedPod): PodFilesResult {
  const found = pod.metadata.annotations?.[MONITOR_CONFIGURATION_ANNOTATION] ?? '{}'
  const isCurrent = isSameUnifiedConfiguration(found, expected.monitorOf(group))
  return { pod: pod.metadata.name, state: isCurrent ? 'current' : 'outdated', message: '' }
}

async function sync(
  context: ClusterContext,
  expected: ExpectedObjects,
  outdated: readonly OutdatedPod[],
): Promise<readonly PodFilesResult[]> {
  const pods = outdated.flatMap((one) => filesOf(context, expected, one) ?? [])
  return pods.length === 0 ? [] : await context.calls.syncPods({ pods })
}

/** Undefined while the Pod has no address. */
function filesOf(
  { settings }: ClusterContext,
  expected: ExpectedObjects,
  { pod, group }: OutdatedPod,
): PodFiles | undefined {
  const host = pod.status?.podIP
  const values = substitutionsOf(pod)
  if (host === undefined || values === undefined) return undefined
  return {
    pod: pod.metadata.name,
    host,
    isTls: settings.sidecarContainer.enableTls ?? false,
    ...expected.filesOf(pod, group, values),
  }
}

interface Result extends OutdatedPod {
  /** Undefined: the Pod has no address. */
  readonly result: PodFilesResult | undefined
}

async function record(
  context: ClusterContext,
  { pod, group: { processGroupID: id }, hash, result }: Result,
): Promise<void> {
  const state = result?.state
  changeProcessGroups(context, (group) => {
    if (group.processGroupID !== id) return group
    const conditions = { SidecarUnreachable: state === 'unreachable', IncorrectConfigMap: state !== 'current' }
    return withConditions(group, conditions, context.now)
  })
  const annotations = pod.metadata.annotations ?? {}
  if (state === 'current' && annotations[LAST_CONFIG_MAP_ANNOTATION] !== hash)
    await context.pass.act.patch(pod, {
      metadata: { annotations: { [LAST_CONFIG_MAP_ANNOTATION]: hash, [OUTDATED_CONFIG_MAP_ANNOTATION]: null } },
    })
  // The change of an annotation makes the kubelet update the files of the ConfigMap at once.
  if (state === 'outdated' && annotations[OUTDATED_CONFIG_MAP_ANNOTATION] === undefined)
    await context.pass.act.patch(pod, {
      metadata: { annotations: { [OUTDATED_CONFIG_MAP_ANNOTATION]: String(context.now.seconds) } },
    })
}

// The conditions of a cluster's process groups, from their Pods, volume claims and processes. Source: spec/foundationdb.md 1.3, 2.1.
//
//   P1. While the database reports no process at all, the conditions of processes stay: one outage must not mark everything as missing.
//   P2. Addresses of a marked process group, or during an outage, are added and never removed: an exclusion by address needs them.
//   P3. Process groups in the maintenance zone stay as they are.

import type { DatabaseStatus, ProcessStatus } from '../../../activities/foundationdb/database/status.ts'
import {
  isStateful,
  LAST_CONFIG_MAP_ANNOTATION,
  LAST_SPEC_ANNOTATION,
  type ProcessGroupCondition,
  PUBLIC_IP_ANNOTATION,
  SIDECAR_CONTAINER,
} from '../contract.ts'
import { serversPerPod } from '../model/cluster-settings.ts'
import { podName, volumeClaimName } from '../model/process-group-id.ts'
import { byName, changeProcessGroups, type ClusterContext, processGroupsIn, updateStatus } from './context.ts'
import { type ExpectedObjects, includes } from './expected-objects.ts'
import type { ProcessGroupStatus } from './kind.ts'
import { withTaintConditions } from './node-taints.ts'
import { isSameCommandLine } from '../resources/monitor-configuration.ts'
import {
  hasEnded,
  imageOf,
  isRunning,
  isTerminating,
  type ObservedPod,
  processClassOf,
  processGroupOf,
} from './observed.ts'
import {
  hasPassed,
  isExcluded,
  isMarked,
  marked,
  type Moment,
  notExcluded,
  withConditions,
  withoutExclusion,
} from './process-groups.ts'
import { exclusionTargets } from './exclusion-targets.ts'

type Conditions = Partial<Record<ProcessGroupCondition, boolean>>

/** Adds process groups of objects that no process group has, marks those that the spec removes, and sets all conditions. */
export function observeProcessGroups(
  context: ClusterContext,
  status: DatabaseStatus | undefined,
  expected: ExpectedObjects,
): void {
  adopt(context)
  markRemovals(context)
  const found = foundObjects(context, status)
  changeProcessGroups(context, (group) => observed(context, group, { status, expected, found }))
}

function adopt(context: ClusterContext): void {
  const known = new Set(processGroupsIn(context).map(({ processGroupID }) => processGroupID))
  const found = [...context.pods, ...context.claims, ...context.services].flatMap((object) => {
    const [id, processClass] = [processGroupOf(object), processClassOf(object)]
    if (id === undefined || processClass === undefined || isTerminating(object) || known.has(id)) return []
    known.add(id)
    return [{ processGroupID: id, processClass, addresses: [], processGroupConditions: [] }]
  })
  if (found.length > 0) updateStatus(context, { processGroups: [...processGroupsIn(context), ...found] })
}

function markRemovals(context: ClusterContext): void {
  const { processGroupsToRemove, processGroupsToRemoveWithoutExclusion: unexcluded } = context.settings
  const all = new Set([...processGroupsToRemove, ...unexcluded])
  changeProcessGroups(context, (group) => {
    if (!all.has(group.processGroupID)) return group
    const removed = marked(group, context.now)
    return unexcluded.includes(group.processGroupID) ? withoutExclusion(removed) : removed
  })
}

interface Observation {
  readonly status: DatabaseStatus | undefined
  readonly expected: ExpectedObjects
  readonly found: FoundObjects
}

interface FoundObjects {
  readonly pods: ReadonlyMap<string, ObservedPod>
  /** By the ID of their process group. */
  readonly processes: ReadonlyMap<string, readonly ProcessStatus[]>
  /** Names. */
  readonly claims: ReadonlySet<string>
  readonly services: ReadonlySet<string>
}

function foundObjects({ pods, claims, services }: ClusterContext, status: DatabaseStatus | undefined): FoundObjects {
  const nameOf = ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name
  const processes = new Map<string, ProcessStatus[]>()
  for (const process of status?.processes ?? []) {
    const id = process.locality['instance_id'] ?? ''
    processes.set(id, [...(processes.get(id) ?? []), process])
  }
  return {
    pods: byName(pods),
    processes,
    claims: new Set(claims.map(nameOf)),
    services: new Set(services.map(nameOf)),
  }
}

function observed(context: ClusterContext, group: ProcessGroupStatus, observation: Observation): ProcessGroupStatus {
  const { status, found } = observation
  // P3
  if (status?.maintenanceZone !== undefined && status.maintenanceZone === group.faultDomain) return group
  const id = group.processGroupID
  const pod = found.pods.get(podName(context.settings.name, id))
  const own = found.processes.get(id) ?? []
  const zone = own[0]?.locality['zoneid']
  const current = withExclusion(context, group, own, status)
  const next = withConditions(
    {
      ...current,
      ...(zone !== undefined && { faultDomain: zone }),
      ...(pod !== undefined && { addresses: addressesWith(context, current, pod, status) }),
    },
    {
      ...objectConditions(context, current, { pod, found }),
      ...(pod === undefined ? {} : podConditions(current, pod, observation.expected)),
      ...(status === undefined || status.processes.length === 0
        ? {}
        : processConditions(context, current, { pod, own, expected: observation.expected })),
    },
    context.now,
  )
  return withTaintConditions(context, next, pod)
}

/** An exclusion that the database does not have any more, such as after a manual `include`, is not complete. */
function withExclusion(
  context: ClusterContext,
  group: ProcessGroupStatus,
  own: readonly ProcessStatus[],
  status: DatabaseStatus | undefined,
): ProcessGroupStatus {
  const isLifted = own.length > 0 && own.some((process) => !process.isExcluded)
  const targets = exclusionTargets(context, [group])
  const isListed = status === undefined || targets.every((target) => status.exclusions.includes(target))
  return group.exclusionTimestamp !== undefined && isLifted && !isListed ? notExcluded(group) : group
}

function objectConditions(
  context: ClusterContext,
  group: ProcessGroupStatus,
  { pod, found: { claims, services } }: { readonly pod: ObservedPod | undefined; readonly found: FoundObjects },
): Conditions {
  const { settings, now } = context
  const { processGroupID: id, processClass = '' } = group
  const isLeaving = isMarked(group) && isExcluded(group)
  const needsService = settings.routing.publicIPSource === 'service'
  const missing: Conditions = {
    MissingPod: pod === undefined,
    MissingPVC: isStateful(processClass) && !claims.has(volumeClaimName(settings.name, id)),
    MissingService: needsService && !services.has(podName(settings.name, id)),
    PodFailing: isFailing(pod, settings.automation.failedPodDurationSeconds, now),
  }
  return {
    ...(isLeaving ? Object.fromEntries(Object.keys(missing).map((type) => [type, false])) : missing),
    ResourcesTerminating: isLeaving && (pod === undefined || isTerminating(pod)),
    PodPending: pod?.status?.phase === 'Pending',
  }
}

/** @param failedSeconds how long a Pod may be terminating. */
function isFailing(pod: ObservedPod | undefined, failedSeconds: number, now: Moment): boolean {
  if (pod === undefined) return false
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) return hasPassed(deletionTimestamp, failedSeconds, now)
  return hasEnded(pod) || (pod.status?.phase === 'Running' && !isRunning(pod))
}

function podConditions(group: ProcessGroupStatus, pod: ObservedPod, expected: ExpectedObjects): Conditions {
  if (isMarked(group) || isTerminating(pod)) return {}
  const { annotations = {}, labels = {} } = pod.metadata
  const wanted = expected.podOf(group)
  return {
    IncorrectPodSpec: annotations[LAST_SPEC_ANNOTATION] !== wanted.specHash(),
    IncorrectPodMetadata: !includes(labels, wanted.labels) || !includes(annotations, wanted.annotations),
    IncorrectSidecarImage: imageOf(pod, SIDECAR_CONTAINER) !== wanted.sidecarImage,
    IncorrectConfigMap: annotations[LAST_CONFIG_MAP_ANNOTATION] !== wanted.configMapHash,
  }
}

function processConditions(
  context: ClusterContext,
  group: ProcessGroupStatus,
  {
    pod,
    own,
    expected,
  }: {
    readonly pod: ObservedPod | undefined
    readonly own: readonly ProcessStatus[]
    readonly expected: ExpectedObjects
  },
): Conditions {
  const { settings } = context
  const isLeaving = isMarked(group) && isExcluded(group)
  const count = serversPerPod(settings, group.processClass ?? '')
  const names = own.flatMap(({ messages }) => messages)
  return {
    MissingProcesses: own.length < count && !isLeaving,
    ProcessIsMarkedAsExcluded: own.some(({ isExcluded: is }) => is) && !isMarked(group),
    ProcessHasIOError: names.some((name) => ['io_timeout', 'io_error'].includes(name)),
    ...(own.length > 0 &&
      pod !== undefined &&
      !isMarked(group) && { IncorrectCommandLine: hasOtherCommand(expected.commandsOf(pod, group), own) }),
  }
}

/** Whether a process runs with another command line than the monitor's configuration gives it now. */
function hasOtherCommand(expected: readonly string[] | undefined, own: readonly ProcessStatus[]): boolean {
  if (expected === undefined) return false
  return own.some(({ commandLine }) => !expected.some((one) => isSameCommandLine(one, commandLine)))
}

/** P2 */
function addressesWith(
  context: ClusterContext,
  group: ProcessGroupStatus,
  pod: ObservedPod,
  status: DatabaseStatus | undefined,
): readonly string[] {
  const { addresses = [] } = group
  const current = pod.metadata.annotations?.[PUBLIC_IP_ANNOTATION] ?? podAddress(context, pod)
  if (current === undefined) return addresses
  if (addresses.at(-1) === current && addresses.length === 1) return addresses
  const keepsAll = isMarked(group) || status?.isAvailable !== true
  return keepsAll ? [...addresses.filter((one) => one !== current), current] : [current]
}

function podAddress({ settings }: ClusterContext, { status }: ObservedPod): string | undefined {
  const { podIPFamily } = settings.routing
  if (podIPFamily === undefined) return status?.podIP
  return status?.podIPs?.map(({ ip }) => ip).find((ip) => ip.includes(':') === (podIPFamily === 6))
}

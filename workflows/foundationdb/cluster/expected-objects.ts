// The objects that a cluster should have now, from its settings and status, in the form in which steps compare and create them. Pure.

import { sha256, type WantedObject } from '../../kit/index.ts'
import { CA_FILE_KEY, CLUSTER_FILE_KEY, isStateful } from '../contract.ts'
import { serversPerPod, wantsTls } from '../model/cluster-settings.ts'
import { podName } from '../model/process-group-id.ts'
import { processCounts } from '../model/process-counts.ts'
import { clusterConfigMap, configMapHash, monitorKey, type MonitorVariant } from '../resources/config-map.ts'
import {
  expectedCommandLine,
  type MonitorInput,
  substitute,
  wantsListenAddress,
} from '../resources/monitor-configuration.ts'
import { type ExpectedPod, expectedPod } from './expected-pod.ts'
import type { ProcessGroup } from '../resources/object-metadata.ts'
import { hasVolumeClaim } from '../resources/process-settings.ts'
import { unifiedCommandLine } from '../resources/unified-configuration.ts'
import { headlessService, processGroupService } from '../resources/services.ts'
import { volumeClaim } from '../resources/volume-claim.ts'
import { byName, type ClusterContext, processGroupsIn } from './context.ts'
import type { PodFiles } from '../../../activities/foundationdb/pod-client/sync-pods.ts'
import type { ClusterStatus, ProcessGroupStatus } from './kind.ts'
import {
  binaryFolderOf,
  type ObservedConfigMap,
  type ObservedPod,
  type ObservedService,
  substitutionsOf,
} from './observed.ts'

type Texts = Readonly<Record<string, string>>

export interface ExpectedObjects {
  readonly configMap: WantedObject & { readonly data: Texts }
  readonly isConfigMapCurrent: (found: ObservedConfigMap | undefined) => boolean
  podOf(group: ProcessGroupStatus): ExpectedPod
  /** Undefined: the process group has no volume claim. */
  claimOf(group: ProcessGroupStatus): WantedObject | undefined
  /** Undefined: the process group has no Service. */
  serviceOf(group: ProcessGroupStatus): WantedObject | undefined
  /** Undefined: the cluster has none. */
  readonly headlessService: WantedObject | undefined
  isServiceCurrent(found: ObservedService, wanted: WantedObject): boolean
  /** Whether the address of the process group is known before its Pod exists, where it is the address of a Service. */
  hasPublicAddress(group: ProcessGroupStatus): boolean
  /** The files of a Pod of the class. @param values of the variables of the Pod. */
  filesOf(pod: ObservedPod, group: ProcessGroupStatus, values: Texts): Pick<PodFiles, 'files' | 'binary'>
  /** The configuration of the monitor of the process group, in the ConfigMap. */
  monitorOf(group: ProcessGroupStatus): string
  /** The command lines of the processes of a Pod; undefined while the Pod has no address. */
  commandsOf(pod: ObservedPod, group: ProcessGroupStatus): readonly string[] | undefined
  /** Fields of the status that name variants in use. */
  inUse(): VariantsInUse
}

type VariantsInUse = Pick<
  ClusterStatus,
  'storageServersPerDisk' | 'logServersPerDisk' | 'imageTypes' | 'hasListenIPsForAllPods'
>

export function expectedObjects(context: ClusterContext): ExpectedObjects {
  const { settings, status } = context
  const input = inputOf(context)
  const configMap = clusterConfigMap({ ...input, variants: variantsOf(context) }) as ExpectedObjects['configMap']
  const serviceName = settings.routing.publicIPSource === 'service'
  const services = byName(context.services)
  const addressOf = ({ processGroupID }: ProcessGroupStatus) =>
    serviceAddress(services.get(podName(settings.name, processGroupID)))
  const variantOf = (group: ProcessGroupStatus): MonitorVariant => {
    const processClass = group.processClass ?? ''
    return { processClass, servers: serversPerPod(settings, processClass) }
  }
  const monitorInputOf = (group: ProcessGroupStatus): MonitorInput => ({ ...input, ...variantOf(group) })
  const hashes = new Map<string, string>()
  const hashOf = (variant: MonitorVariant) => {
    const key = monitorKey(settings, variant)
    const hash = hashes.get(key) ?? configMapHash(configMap.data, settings, variant)
    hashes.set(key, hash)
    return hash
  }
  return {
    configMap,
    isConfigMapCurrent: (found) => found !== undefined && isConfigMapCurrent(configMap, found),
    podOf: (group) =>
      expectedPod(context, identityOf(group), {
        configMapHash: hashOf(variantOf(group)),
        publicAddress: serviceName ? addressOf(group) : undefined,
      }),
    claimOf: (group) =>
      isStateful(group.processClass ?? '') && hasVolumeClaim(settings.spec, group.processClass ?? '')
        ? volumeClaim(settings, identityOf(group))
        : undefined,
    serviceOf: (group) => (serviceName ? processGroupService(settings, identityOf(group)) : undefined),
    headlessService: settings.routing.headlessService ? headlessService(settings) : undefined,
    isServiceCurrent,
    hasPublicAddress: (group) => !serviceName || addressOf(group) !== undefined,
    filesOf: (pod, group, values) =>
      filesOf(configMap.data, monitorKey(settings, variantOf(group)), allValues(pod, values)),
    commandsOf(pod, group) {
      const values = substitutionsOf(pod)
      if (values === undefined) return undefined
      const monitor = monitorInputOf(group)
      const commandLine = settings.imageType === 'unified' ? unifiedCommandLine : expectedCommandLine
      return Array.from({ length: monitor.servers }, (_, at) => commandLine(monitor, at + 1, allValues(pod, values)))
    },
    monitorOf: (group) => configMap.data[monitorKey(settings, variantOf(group))] ?? '',
    inUse: () => inUse(context, status),
  }
}

/** The variables that the sidecar replaces. */
function allValues(pod: ObservedPod, values: Texts): Texts {
  return { ...values, BINARY_DIR: binaryFolderOf(pod) }
}

function identityOf({ processGroupID, processClass = '' }: ProcessGroupStatus): ProcessGroup {
  return { processGroupID, processClass }
}

function inputOf({ settings, status }: ClusterContext) {
  const { tls, nonTLS } = status.requiredAddresses ?? {}
  const isTls = wantsTls(settings)
  return {
    settings,
    connectionString: status.connectionString,
    runningVersion: status.runningVersion ?? settings.version,
    addresses: { tls: tls ?? isTls, nonTLS: nonTLS ?? !isTls },
    // The first Pods have what the spec wants.
    hasListenIPs: status.hasListenIPsForAllPods ?? wantsListenAddress(settings),
  }
}

/** Of the desired classes, and of the classes of existing process groups. */
function variantsOf(context: ClusterContext): readonly MonitorVariant[] {
  const { settings } = context
  const classes = new Set<string>([
    ...Object.keys(processCounts(settings)),
    ...processGroupsIn(context).map(({ processClass = '' }) => processClass),
  ])
  const numbers = (processClass: string): readonly number[] => {
    const { storageServersPerDisk = [], logServersPerDisk = [] } = context.status
    const used: Readonly<Record<string, readonly number[]>> = { storage: storageServersPerDisk, log: logServersPerDisk }
    return [...new Set([serversPerPod(settings, processClass), ...(used[processClass] ?? [])])]
  }
  return [...classes]
    .sort()
    .flatMap((processClass) => numbers(processClass).map((servers) => ({ processClass, servers })))
}

function inUse({ settings, pods }: ClusterContext, status: ClusterStatus): VariantsInUse {
  const values = pods.map((pod) => substitutionsOf(pod)).filter((one) => one !== undefined)
  const numbersOf = (name: string, wanted: number) =>
    [...new Set([wanted, ...values.flatMap((one) => (one[name] === undefined ? [] : [Number(one[name])]))])].sort(
      (a, b) => a - b,
    )
  const isKnown = pods.length > 0 && values.length === pods.length
  return {
    storageServersPerDisk: numbersOf('STORAGE_SERVERS_PER_POD', settings.storageServersPerPod),
    logServersPerDisk: numbersOf('LOG_SERVERS_PER_POD', settings.logServersPerPod),
    imageTypes: [settings.imageType],
    hasListenIPsForAllPods: isKnown
      ? values.every((one) => one['FDB_POD_IP'] !== undefined)
      : (status.hasListenIPsForAllPods ?? wantsListenAddress(settings)),
  }
}

/** The generated and the user's data are equal; labels and annotations may have more entries. */
function isConfigMapCurrent(wanted: ExpectedObjects['configMap'], { data = {}, metadata }: ObservedConfigMap): boolean {
  const isSame = (one: Texts, other: Texts) =>
    Object.keys(one).length === Object.keys(other).length && includes(one, other)
  const { labels = {}, annotations = {} } = metadata
  return (
    isSame(data, wanted.data) &&
    includes(labels, (wanted.metadata.labels ?? {}) as Texts) &&
    includes(annotations, (wanted.metadata.annotations ?? {}) as Texts)
  )
}

function isServiceCurrent({ metadata, spec }: ObservedService, wanted: WantedObject): boolean {
  const { selector = {} } = (wanted['spec'] ?? {}) as { readonly selector?: Texts }
  return (
    includes(metadata.labels ?? {}, (wanted.metadata.labels ?? {}) as Texts) &&
    includes(spec.selector ?? {}, selector) &&
    Object.keys(spec.selector ?? {}).length === Object.keys(selector).length
  )
}

/** Whether `found` has all entries of `wanted`. */
export function includes(found: Texts, wanted: Texts): boolean {
  return Object.entries(wanted).every(([key, value]) => found[key] === value)
}

function filesOf(data: Texts, monitor: string, values: Texts): Pick<PodFiles, 'files' | 'binary'> {
  const caFile = data[CA_FILE_KEY]
  const [, version] = /^\/var\/dynamic-conf\/bin\/([^/]+)$/.exec(values['BINARY_DIR'] ?? '') ?? []
  return {
    files: {
      'fdb.cluster': sha256(data[CLUSTER_FILE_KEY] ?? ''),
      'fdbmonitor.conf': sha256(substitute(data[monitor] ?? '', values)),
      ...(caFile !== undefined && { 'ca.pem': sha256(caFile) }),
    },
    ...(version !== undefined && { binary: `bin/${version}/fdbserver` }),
  }
}

function serviceAddress(service: ObservedService | undefined): string | undefined {
  const { clusterIP = '' } = service?.spec ?? {}
  return clusterIP === '' || clusterIP === 'None' ? undefined : clusterIP
}

// A cluster's spec with aliases resolved and defaults filled in. Code reads settings, never the spec, so that each alias and
// each default is in one place. Source: spec/foundationdb.md 1.1, 1.7, 3.2, 8.3.

import type { ClusterSpec } from '../cluster/kind.ts'
import type { ContainerSettings, ImageType } from '../container-schema.ts'
import { CLUSTER_LABEL, DEFAULT_FAULT_DOMAIN } from '../contract.ts'
import { type AutomationSettings, automationSettings } from './automation-settings.ts'

export interface ClusterSettings {
  readonly name: string
  readonly namespace: string
  readonly version: string
  /** The spec, for fields without aliases and defaults. */
  readonly spec: ClusterSpec
  /** Empty: none. It is also the lock ID. */
  readonly prefix: string
  readonly processGroupsToRemove: readonly string[]
  readonly processGroupsToRemoveWithoutExclusion: readonly string[]
  readonly faultDomain: FaultDomain
  readonly routing: Routing
  readonly imageType: ImageType
  readonly mainContainer: ContainerSettings
  readonly sidecarContainer: ContainerSettings
  readonly storageServersPerPod: number
  readonly logServersPerPod: number
  readonly useExplicitListenAddress: boolean
  readonly logGroup: string
  readonly minimumUptimeSeconds: number
  readonly automation: AutomationSettings
  readonly lock: LockSettings
  /** The labels by which the controller finds the cluster's objects. */
  readonly matchLabels: Readonly<Record<string, string>>
  /** In addition to `matchLabels`. */
  readonly resourceLabels: Readonly<Record<string, string>>
}

export interface FaultDomain {
  readonly key: string
  readonly value: string | undefined
  /** A field of a Pod, or `$NAME`. */
  readonly valueFrom: string
  /** Undefined: derived from the redundancy mode. */
  readonly zoneCount: number | undefined
  readonly zoneIndex: number
}

export interface Routing {
  /** DNS names of Pods need it. */
  readonly headlessService: boolean
  readonly publicIPSource: 'pod' | 'service'
  readonly podIPFamily: 4 | 6 | undefined
  readonly useDNSInClusterFile: boolean
  readonly defineDNSLocalityFields: boolean
  readonly dnsDomain: string
}

export interface LockSettings {
  readonly isUsed: boolean
  readonly lockID: string
  readonly keyPrefix: string
  readonly durationSeconds: number
  readonly denyList: readonly { readonly id: string; readonly isAllowed: boolean }[]
}

/** Source: spec/foundationdb.md 3.1. */
export const LOCK_KEY_PREFIX = '\xff\x02/org.foundationdb.kubernetes-operator'

const LOCK_MINUTES = 10
const MINIMUM_UPTIME_SECONDS = 600

interface NamedCluster {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: ClusterSpec
}

export function clusterSettings({ metadata: { name, namespace }, spec }: NamedCluster): ClusterSettings {
  const prefix = spec.processGroupIDPrefix ?? spec.instanceIDPrefix ?? ''
  const faultDomain = faultDomainOf(spec)
  return {
    name,
    namespace,
    version: spec.version,
    spec,
    prefix,
    faultDomain,
    routing: routingOf(spec),
    automation: automationSettings(spec),
    lock: lockOf(spec, prefix, faultDomain),
    ...removalsOf(spec),
    ...podSettingsOf(spec),
    logGroup: spec.logGroup ?? name,
    minimumUptimeSeconds: spec.minimumUptimeSecondsForBounce ?? MINIMUM_UPTIME_SECONDS,
    matchLabels: spec.labels?.matchLabels ?? { [CLUSTER_LABEL]: name },
    resourceLabels: spec.labels?.resourceLabels ?? {},
  }
}

function removalsOf(spec: ClusterSpec) {
  return {
    processGroupsToRemove: spec.processGroupsToRemove ?? spec.instancesToRemove ?? [],
    processGroupsToRemoveWithoutExclusion:
      spec.processGroupsToRemoveWithoutExclusion ?? spec.instancesToRemoveWithoutExclusion ?? [],
  }
}

function podSettingsOf({ imageType = 'split', mainContainer = {}, sidecarContainer = {}, ...spec }: ClusterSpec) {
  return {
    imageType,
    mainContainer,
    sidecarContainer,
    storageServersPerPod: Math.max(1, spec.storageServersPerPod ?? 1),
    logServersPerPod: Math.max(1, spec.logServersPerPod ?? 1),
    useExplicitListenAddress: spec.useExplicitListenAddress ?? true,
  }
}

/** The number of processes in a Pod of the class. */
export function serversPerPod(
  { storageServersPerPod, logServersPerPod }: Pick<ClusterSettings, 'storageServersPerPod' | 'logServersPerPod'>,
  processClass: string,
): number {
  if (processClass === 'storage') return storageServersPerPod
  return processClass === 'log' || processClass === 'transaction' ? logServersPerPod : 1
}

/** Source: spec/foundationdb.md 1.2 `requiredAddresses`. */
export function wantsTls({ mainContainer }: Pick<ClusterSettings, 'mainContainer'>): boolean {
  return mainContainer.enableTls ?? false
}

function faultDomainOf({ faultDomain = {} }: ClusterSpec): FaultDomain {
  return {
    key: faultDomain.key ?? DEFAULT_FAULT_DOMAIN,
    value: faultDomain.value,
    valueFrom: faultDomain.valueFrom ?? 'spec.nodeName',
    zoneCount: faultDomain.zoneCount === undefined || faultDomain.zoneCount < 1 ? undefined : faultDomain.zoneCount,
    zoneIndex: faultDomain.zoneIndex ?? 0,
  }
}

function routingOf({ routing = {}, services = {} }: ClusterSpec): Routing {
  const useDNSInClusterFile = routing.useDNSInClusterFile === true
  const defineDNSLocalityFields = useDNSInClusterFile || routing.defineDNSLocalityFields === true
  const { podIPFamily } = routing
  return {
    headlessService: defineDNSLocalityFields || (routing.headlessService ?? services.headless) === true,
    publicIPSource: routing.publicIPSource ?? services.publicIPSource ?? 'pod',
    podIPFamily: podIPFamily === 4 || podIPFamily === 6 ? podIPFamily : undefined,
    useDNSInClusterFile,
    defineDNSLocalityFields,
    dnsDomain: routing.dnsDomain ?? 'cluster.local',
  }
}

function lockOf(
  { lockOptions = {}, databaseConfiguration = {} }: ClusterSpec,
  lockID: string,
  faultDomain: FaultDomain,
): LockSettings {
  const hasSeveral =
    (faultDomain.zoneCount ?? 0) > 1 ||
    (databaseConfiguration.regions ?? []).length > 1 ||
    databaseConfiguration.redundancy_mode === 'three_data_hall'
  return {
    isUsed: lockOptions.disableLocks === undefined ? hasSeveral : !lockOptions.disableLocks,
    lockID,
    keyPrefix: lockOptions.lockKeyPrefix ?? LOCK_KEY_PREFIX,
    durationSeconds: (lockOptions.lockDurationMinutes ?? LOCK_MINUTES) * 60,
    denyList: (lockOptions.denyList ?? []).map(({ id = '', allow }) => ({ id, isAllowed: allow ?? false })),
  }
}

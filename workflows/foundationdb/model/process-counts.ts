// How many processes a database needs: roles, process groups and coordinators. Source: spec/foundationdb.md 1.7.

import type { DatabaseConfiguration, RedundancyMode } from '../cluster/schema/database.ts'
import { KUBERNETES_CLUSTER_FAULT_DOMAIN, PROCESS_CLASSES, type ProcessClass } from '../contract.ts'
import type { ClusterSettings, FaultDomain } from './cluster-settings.ts'

/** How many fault domains may fail, and how many a database needs at least. */
export interface Redundancy {
  readonly faultTolerance: number
  readonly faultDomains: number
  readonly coordinators: number
  readonly logs: number
}

const REDUNDANCY: Readonly<Record<RedundancyMode, Redundancy>> = {
  single: { faultTolerance: 0, faultDomains: 1, coordinators: 1, logs: 3 },
  double: { faultTolerance: 1, faultDomains: 2, coordinators: 3, logs: 3 },
  triple: { faultTolerance: 2, faultDomains: 3, coordinators: 5, logs: 3 },
  three_data_hall: { faultTolerance: 2, faultDomains: 3, coordinators: 9, logs: 4 },
}

/** With several usable regions, and for `three_data_hall`. */
export const MULTI_REGION_COORDINATORS = 9

export function redundancyOf({ redundancy_mode: mode }: DatabaseConfiguration): Redundancy {
  return REDUNDANCY[mode === undefined || mode === '' ? 'double' : mode]
}

export function coordinatorCount(configuration: DatabaseConfiguration): number {
  return (configuration.usable_regions ?? 1) > 1 ? MULTI_REGION_COORDINATORS : redundancyOf(configuration).coordinators
}

/** Numbers of roles; -1: none. Proxies are undefined where the configuration counts them the other way. */
export interface RoleCounts {
  readonly storage: number
  readonly logs: number
  readonly proxies: number | undefined
  readonly commit_proxies: number | undefined
  readonly grv_proxies: number | undefined
  readonly resolvers: number
  readonly log_routers: number
  readonly remote_logs: number
}

const PROXIES = 3
const COMMIT_PROXIES = 2
const GRV_PROXIES = 1
const RESOLVERS = 1

/** Whether GRV and commit proxies are counted separately. */
export function hasSeparateProxies({ commit_proxies, grv_proxies }: DatabaseConfiguration): boolean {
  return (commit_proxies ?? 0) > 0 || (grv_proxies ?? 0) > 0
}

export function roleCounts(configuration: DatabaseConfiguration): RoleCounts {
  const { faultTolerance, logs: defaultLogs } = redundancyOf(configuration)
  const given = (count: number | undefined, otherwise: number) =>
    count === undefined || count === 0 ? otherwise : count
  const logs = given(configuration.logs, defaultLogs)
  const remote = (configuration.usable_regions ?? 1) > 1 ? logs : -1
  const isSeparate = hasSeparateProxies(configuration)
  return {
    storage: given(configuration.storage, 2 * faultTolerance + 1),
    logs,
    proxies: isSeparate ? undefined : given(configuration.proxies, PROXIES),
    commit_proxies: isSeparate ? given(configuration.commit_proxies, COMMIT_PROXIES) : undefined,
    grv_proxies: isSeparate ? given(configuration.grv_proxies, GRV_PROXIES) : undefined,
    resolvers: given(configuration.resolvers, RESOLVERS),
    log_routers: given(configuration.log_routers, remote),
    remote_logs: given(configuration.remote_logs, remote),
  }
}

type Counted = Pick<ClusterSettings, 'faultDomain'> & {
  readonly spec: Pick<ClusterSettings['spec'], 'databaseConfiguration' | 'processCounts' | 'dataCenter'>
}

/** The desired number of process groups by class; classes without process groups are absent. */
export function processCounts(settings: Counted): Readonly<Partial<Record<ProcessClass, number>>> {
  const { databaseConfiguration: configuration = {}, processCounts: given = {}, dataCenter } = settings.spec
  const derived = derivedCounts({ configuration, given, dataCenter, faultDomain: settings.faultDomain })
  const counts = PROCESS_CLASSES.map((name) => {
    const count = given[name] ?? 0
    return [name, count === 0 ? (derived[name] ?? 0) : count] as const
  })
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

/** The desired number of all process groups. */
export function totalCount(counts: Readonly<Partial<Record<ProcessClass, number>>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

interface CountInput {
  readonly configuration: DatabaseConfiguration
  readonly given: Readonly<Partial<Record<ProcessClass, number>>>
  readonly dataCenter: string | undefined
  readonly faultDomain: FaultDomain
}

function derivedCounts(input: CountInput): Readonly<Partial<Record<ProcessClass, number>>> {
  const { configuration, given } = input
  const roles = roleCounts(configuration)
  const { isSatelliteOnly, satelliteLogs } = dataCenterOf(input)
  if (isSatelliteOnly) return { log: 1 + satelliteLogs }
  const { faultTolerance } = redundancyOf(configuration)
  // A role needs no process of class stateless if its own class has process groups.
  const shared = (count: number, ...own: readonly ProcessClass[]) =>
    own.some((name) => (given[name] ?? 0) > 0) ? 0 : Math.max(0, count)
  const proxies =
    roles.proxies === undefined
      ? shared(roles.commit_proxies ?? 0, 'commit_proxy', 'proxy') +
        shared(roles.grv_proxies ?? 0, 'grv_proxy', 'proxy')
      : shared(roles.proxies, 'proxy')
  const stateless =
    shared(1, 'master') +
    shared(1, 'cluster_controller') +
    shared(roles.resolvers, 'resolution') +
    shared(1, 'ratekeeper') +
    shared(1, 'data_distributor') +
    proxies
  const inZone = (count: number) => countInZone(input, count)
  return {
    storage: inZone(roles.storage),
    log: inZone(Math.max(roles.logs + satelliteLogs, roles.remote_logs) + faultTolerance),
    stateless: inZone(Math.max(stateless, shared(roles.log_routers, 'router')) + faultTolerance),
  }
}

/** The place of the data centre in the regions; without regions it holds everything. */
function dataCenterOf({ configuration: { regions = [] }, dataCenter }: CountInput) {
  const places = regions.flatMap(({ datacenters = [], satellite_logs = 0 }) =>
    datacenters.filter(({ id }) => id === dataCenter).map(({ satellite = 0 }) => ({ satellite, satellite_logs })),
  )
  const asSatellite = places.filter(({ satellite }) => satellite !== 0)
  return {
    isSatelliteOnly: asSatellite.length > 0 && asSatellite.length === places.length,
    satelliteLogs: Math.max(0, ...asSatellite.map(({ satellite_logs: logs }) => logs)),
  }
}

/** The share of this Kubernetes cluster, if Kubernetes clusters are the fault domains. */
function countInZone({ faultDomain, configuration }: CountInput, count: number): number {
  if (faultDomain.key !== KUBERNETES_CLUSTER_FAULT_DOMAIN) return count
  const { faultDomains, faultTolerance } = redundancyOf(configuration)
  const { zoneCount = faultDomains + faultTolerance, zoneIndex } = faultDomain
  if (zoneIndex < 0) return 0
  return Math.floor(count / zoneCount) + (zoneIndex < count % zoneCount ? 1 : 0)
}

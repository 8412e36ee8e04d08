// The part of `status json` that Pawl uses, as one flat value. Source: spec/foundationdb.md 4.4; the recorded documents.
//
//   S1. Every field of the document may be missing: an unconfigured or recovering database leaves out most of them.
//   S2. A field that the document lacks is undefined or an empty list, never a guess. `isAvailable` is false without it.
//   S3. The value contains no field besides the declared ones, so a database of 500 processes fits into an activity's result.

import type { ReportedProcess } from '../../../workflows/foundationdb/database/coordinators.ts'
import { type Reader, readerOf } from './json-reader.ts'

/** The state of a database as its `status json` reports it. */
export interface DatabaseStatus {
  readonly isAvailable: boolean
  /** False while the document is incomplete. */
  readonly isHealthy: boolean
  readonly hasQuorum: boolean
  readonly coordinators: readonly CoordinatorStatus[]
  /** Names of the messages of client and cluster, such as `unreachable_cluster_controller`, sorted and without repetition. */
  readonly messages: readonly string[]
  /** True if the database reports that `configure new` was never run; undefined if it does not say. */
  readonly isUnconfigured: boolean | undefined
  readonly connectionString: string | undefined
  /** `cluster.configuration` without `excluded_servers`. */
  readonly configuration: Readonly<Record<string, unknown>> | undefined
  /** Excluded addresses (`127.0.0.3`, `127.0.0.3:4501`) and localities (`locality_instance_id:storage-1`). */
  readonly exclusions: readonly string[]
  readonly processes: readonly ProcessStatus[]
  readonly data: DataStatus
  readonly logs: readonly LogStatus[]
  readonly recovery: RecoveryStatus
  readonly hasFullReplication: boolean
  readonly maintenanceZone: string | undefined
  /** Versions of the connected clients. */
  readonly clients: readonly ClientVersion[]
  /** Addresses of processes and clients whose protocol is incompatible. */
  readonly incompatibleConnections: readonly string[]
  readonly lag: LagStatus
  /** False if the database reports that a bounce is not clean now. */
  readonly canCleanBounce: boolean
}

export interface CoordinatorStatus {
  readonly address: string
  readonly isReachable: boolean
}

export interface ProcessStatus extends ReportedProcess {
  /** Keys as in the document: `instance_id`, `process_id`, `zoneid`, `dcid`, `data_hall`, `dns_name`. Empty in the first seconds of a process. */
  readonly locality: Readonly<Record<string, string>>
  readonly version: string
  readonly uptimeSeconds: number
  readonly runLoopBusy: number | undefined
  readonly roles: readonly RoleStatus[]
  /** Names such as `io_error`. */
  readonly messages: readonly string[]
}

export interface RoleStatus {
  readonly role: string
  readonly storedBytes?: number
}

export interface DataStatus {
  /** `healthy`, `healing`, `initializing`, ... */
  readonly name: string | undefined
  /** Undefined while data distribution initializes: for about 35 s after a recovery. */
  readonly isHealthy: boolean | undefined
  readonly minReplicasRemaining: number | undefined
  readonly highestPriority: number | undefined
  readonly teams: readonly TeamStatus[]
}

export interface TeamStatus {
  readonly isPrimary: boolean
  readonly name: string | undefined
  readonly isHealthy: boolean
  readonly minReplicasRemaining: number | undefined
}

/** Fault tolerance and replication factor of a set of logs; undefined where the set does not exist. */
export interface LogStatus {
  readonly isCurrent: boolean
  readonly main: ReplicationStatus | undefined
  readonly remote: ReplicationStatus | undefined
  readonly satellite: ReplicationStatus | undefined
}

export interface ReplicationStatus {
  readonly faultTolerance: number
  readonly replicationFactor: number
}

export interface RecoveryStatus {
  readonly name: string | undefined
  readonly activeGenerations: number | undefined
  /** Undefined if unknown or never recovered. */
  readonly secondsSince: number | undefined
}

export interface ClientVersion {
  readonly clientVersion: string
  readonly protocolVersion: string
  /** Clients whose newest protocol this is; at most 20, because the database cuts the list. */
  readonly clients: readonly { readonly address: string; readonly logGroup: string }[]
}

export interface LagStatus {
  readonly storageLagSeconds: number | undefined
  readonly storageDurabilityLagSeconds: number | undefined
  readonly logQueueBytes: number | undefined
  readonly storageQueueBytes: number | undefined
}

/**
 * @param output standard output of `status json`; lines before the first `{` are ignored.
 * @throws a plain Error if the output contains no JSON object.
 */
export function parseStatus(output: string): DatabaseStatus {
  const start = output.indexOf('{')
  if (start < 0) throw new Error('status json: the output contains no JSON object')
  const document = readerOf(JSON.parse(output.slice(start)) as unknown)
  const [client, cluster] = [document.at('client'), document.at('cluster')]
  const database = client.at('database_status')
  const configuration = cluster.at('configuration').object()
  const messages = [...client.at('messages').list(), ...cluster.at('messages').list()]
  return {
    isAvailable: database.at('available').boolean() ?? false,
    isHealthy: database.at('healthy').boolean() ?? false,
    hasQuorum: client.at('coordinators', 'quorum_reachable').boolean() ?? false,
    coordinators: client
      .at('coordinators', 'coordinators')
      .list()
      .map((one) => ({ address: one.at('address').text(), isReachable: one.at('reachable').boolean() ?? false })),
    messages: [...new Set(messages.map((one) => one.at('name').text()))].sort(),
    isUnconfigured: isUnconfigured(cluster),
    connectionString: cluster.at('connection_string').optionalText(),
    configuration: configuration === undefined ? undefined : withoutExclusions(configuration),
    exclusions: exclusionsIn(cluster),
    processes: cluster.at('processes').values().map(processOf),
    data: dataOf(cluster.at('data')),
    logs: cluster.at('logs').list().map(logOf),
    recovery: recoveryOf(cluster.at('recovery_state')),
    hasFullReplication: cluster.at('full_replication').boolean() ?? false,
    maintenanceZone: cluster.at('maintenance_zone').optionalText(),
    clients: cluster.at('clients', 'supported_versions').list().map(clientOf),
    incompatibleConnections: cluster
      .at('incompatible_connections')
      .list()
      .map((one) => one.text()),
    lag: lagOf(cluster.at('qos')),
    canCleanBounce: cluster.at('bounce_impact', 'can_clean_bounce').boolean() ?? true,
  }
}

/** `layers._error: configurationMissing` does not prove it: an unavailable database has it, too. */
function isUnconfigured(cluster: Reader): boolean | undefined {
  if (cluster.at('configuration').object() !== undefined) return false
  const recovery = cluster.at('recovery_state', 'name').text()
  return ['configuration_never_created', 'configuration_invalid'].includes(recovery) ? true : undefined
}

function withoutExclusions(configuration: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(configuration).filter(([key]) => key !== 'excluded_servers'))
}

function exclusionsIn(cluster: Reader): readonly string[] {
  return cluster
    .at('configuration', 'excluded_servers')
    .list()
    .map((one) => one.at('address').optionalText() ?? one.at('locality').text())
}

function processOf(one: Reader): ProcessStatus {
  return {
    address: one.at('address').text(),
    processClass: one.at('class_type').text(),
    commandLine: one.at('command_line').text(),
    isExcluded: one.at('excluded').boolean() ?? false,
    isUnderMaintenance: one.at('under_maintenance').boolean() ?? false,
    locality: one.at('locality').texts(),
    version: one.at('version').text(),
    uptimeSeconds: one.at('uptime_seconds').number() ?? 0,
    runLoopBusy: one.at('run_loop_busy').number(),
    roles: one.at('roles').list().map(roleOf),
    messages: one
      .at('messages')
      .list()
      .map((message) => message.at('name').text()),
  }
}

function roleOf(one: Reader): RoleStatus {
  const storedBytes = one.at('stored_bytes').number()
  return { role: one.at('role').text(), ...(storedBytes !== undefined && { storedBytes }) }
}

function dataOf(data: Reader): DataStatus {
  const state = data.at('state')
  return {
    name: state.at('name').optionalText(),
    isHealthy: state.at('healthy').boolean(),
    minReplicasRemaining: state.at('min_replicas_remaining').number(),
    highestPriority: data.at('moving_data', 'highest_priority').number(),
    teams: data
      .at('team_trackers')
      .list()
      .map((one) => ({
        isPrimary: one.at('primary').boolean() ?? false,
        name: one.at('state', 'name').optionalText(),
        isHealthy: one.at('state', 'healthy').boolean() ?? false,
        minReplicasRemaining: one.at('state', 'min_replicas_remaining').number(),
      })),
  }
}

function logOf(one: Reader): LogStatus {
  const replication = (prefix: string): ReplicationStatus | undefined => {
    const faultTolerance = one.at(`${prefix}log_fault_tolerance`).number()
    const replicationFactor = one.at(`${prefix}log_replication_factor`).number()
    return faultTolerance === undefined || replicationFactor === undefined
      ? undefined
      : { faultTolerance, replicationFactor }
  }
  return {
    isCurrent: one.at('current').boolean() ?? false,
    main: replication(''),
    remote: replication('remote_'),
    satellite: replication('satellite_'),
  }
}

function recoveryOf(recovery: Reader): RecoveryStatus {
  const seconds = recovery.at('seconds_since_last_recovered').number()
  return {
    name: recovery.at('name').optionalText(),
    activeGenerations: recovery.at('active_generations').number(),
    secondsSince: seconds === undefined || seconds < 0 ? undefined : seconds,
  }
}

function clientOf(one: Reader): ClientVersion {
  return {
    clientVersion: one.at('client_version').text(),
    protocolVersion: one.at('protocol_version').text(),
    clients: one
      .at('max_protocol_clients')
      .list()
      .map((client) => ({ address: client.at('address').text(), logGroup: client.at('log_group').text() })),
  }
}

function lagOf(qos: Reader): LagStatus {
  return {
    storageLagSeconds: qos.at('worst_data_lag_storage_server', 'seconds').number(),
    storageDurabilityLagSeconds: qos.at('worst_durability_lag_storage_server', 'seconds').number(),
    logQueueBytes: qos.at('worst_queue_bytes_log_server').number(),
    storageQueueBytes: qos.at('worst_queue_bytes_storage_server').number(),
  }
}

// `cluster` of `status json`, as the cluster controller answers. Source: fdb-recordings, all `status.json` documents.
//
// C1. During an outage, or before `configure new`, the document has only the fields that the controller knows by itself.

import { formatConnectionString, withoutTls } from './connection-string.ts'
import { configurationDocument, leadingDatacenters } from './configuration.ts'
import type { Database } from './database.ts'
import { dataDocument, faultTolerance } from './status-data.ts'
import { machineDocuments, processDocuments, unreachableProcesses } from './status-process.ts'
import type { LogGeneration, Phase, State } from './state.ts'

type Json = Record<string, unknown>

export interface ConnectedClient {
  readonly address: string
  readonly logGroup: string
}

/** Facts from outside the simulation. */
export interface ClusterView {
  readonly clients: readonly ConnectedClient[]
  /** Addresses of processes that cannot join because of their version. */
  readonly incompatible: readonly string[]
  /** Unix time. */
  readonly wallSeconds: number
}

const DESCRIPTIONS: Readonly<Record<Phase, string>> = {
  configuration_never_created:
    'The coordinator(s) have no record of this database. Either the coordinator addresses are incorrect, the coordination state on those machines is missing, or no database has been created.',
  configuration_invalid:
    'The database configuration is invalid. Set a new, valid configuration to recover the database.',
  locking_coordinated_state:
    'Locking coordination state. Verify that a majority of coordination server processes are active.',
  recruiting_transaction_servers: 'Recruiting new transaction servers.',
  accepting_commits: 'Accepting commits.',
  all_logs_recruited: 'Accepting commits. All logs recruited.',
  fully_recovered: 'Recovery complete.',
}

const message = (name: string, description: string): Json => ({ description, name })
const UNREADABLE = message('unreadable_configuration', 'Unable to read database configuration.')
const NO_WORKERS = [
  message('unreachable_dataDistributor_worker', 'Unable to locate the data distributor worker.'),
  message('unreachable_ratekeeper_worker', 'Unable to locate the ratekeeper worker.'),
]
const INCOMPLETE = {
  ...message('status_incomplete', 'Unable to retrieve all status information.'),
  reasons: [{ description: 'Cannot retrieve all process status information.' }],
}
/** How long after a recovery figures are missing. Source: fdb-recordings 06/015, 10/009. */
const FRESH_SECONDS = 1

/** Generations that lost no log are drained at once. Source: SURPRISES 19. */
function activeGenerations(state: State): number {
  const hasLoss = ({ interfaces }: LogGeneration) => interfaces.some(({ process }) => !state.isAlive(process))
  return 1 + state.logs.slice(1).filter(hasLoss).length
}

function recoveryState(state: State): Json {
  const isRecruiting = state.phase === 'recruiting_transaction_servers'
  return {
    ...(!isRecruiting && { active_generations: activeGenerations(state) }),
    description: DESCRIPTIONS[state.phase],
    name: state.phase,
    seconds_since_last_recovered: state.available ? state.now() - state.acceptedAt : -1,
  }
}

/** The fields that are always there. `wallSeconds`: Unix time. */
function controllerPart(database: Database, { clients, incompatible, wallSeconds }: ClusterView): Json {
  const { state } = database
  const isRecovered = state.phase === 'fully_recovered'
  const list = clients.slice(0, 20).map(({ address, logGroup }) => ({ address, log_group: logGroup }))
  const version = {
    client_version: '7.1.67',
    connected_clients: list,
    count: clients.length,
    max_protocol_clients: list,
    max_protocol_count: clients.length,
    protocol_version: 'fdb00b071010000',
    source_version: '0'.repeat(40),
  }
  return {
    active_tss_count: 0,
    bounce_impact: isRecovered
      ? { can_clean_bounce: true }
      : { can_clean_bounce: false, reason: "cluster hasn't fully recovered yet" },
    clients: { count: clients.length, ...(clients.length > 0 && { supported_versions: [version] }) },
    cluster_controller_timestamp: Math.floor(wallSeconds),
    connection_string: formatConnectionString(state.connection),
    datacenter_lag: { seconds: 0, versions: 0 },
    degraded_processes: 0,
    ...(state.phase !== 'locking_coordinated_state' && { generation: state.generation }),
    incompatible_connections: incompatible,
    machines: machineDocuments(state),
    processes: processDocuments(state, isReadable(database)),
    protocol_version: 'fdb00b071010000',
    recovery_state: recoveryState(state),
  }
}

function logDocument(state: State, generation: LogGeneration, index: number): Json {
  const interfaces = generation.interfaces.map(({ address, id, process }) => ({
    address,
    healthy: state.isAlive(process),
    id,
  }))
  const lost = interfaces.filter(({ healthy }) => !healthy).length
  return {
    begin_version: generation.begin,
    current: index === 0,
    ...(generation.end !== undefined && { end_version: generation.end }),
    epoch: generation.epoch,
    log_fault_tolerance: generation.replicas - 1 - lost,
    log_interfaces: interfaces,
    log_replication_factor: generation.replicas,
    log_write_anti_quorum: 0,
    possibly_losing_data: false,
    ...(state.remoteReadyAt !== undefined && {
      remote_log_fault_tolerance: generation.replicas - 1,
      remote_log_replication_factor: generation.replicas,
    }),
  }
}

const hz = (): Json => ({ counter: 0, hz: 0, roughness: 0 })
const named = (names: string): Json => Object.fromEntries(names.split(' ').map((name) => [name, hz()]))

const WORKLOAD: Json = {
  bytes: named('read written'),
  keys: named('read'),
  operations: named('location_requests low_priority_reads memory_errors read_requests reads writes'),
  transactions: named(
    'committed conflicted rejected_for_queued_too_long started started_batch_priority started_default_priority started_immediate_priority',
  ),
}

const LIMITED_BY = {
  description: 'The database is not being saturated by the workload.',
  name: 'workload',
  reason_id: 6,
}

const QOS: Json = {
  batch_performance_limited_by: LIMITED_BY,
  batch_released_transactions_per_second: 3,
  batch_transactions_per_second_limit: 13_802_800,
  limiting_data_lag_storage_server: { seconds: 0, versions: 0 },
  limiting_durability_lag_storage_server: { seconds: 5, versions: 5_000_000 },
  limiting_queue_bytes_storage_server: 0,
  performance_limited_by: LIMITED_BY,
  released_transactions_per_second: 65,
  throttled_tags: {
    auto: { busy_read: 0, busy_write: 0, count: 0, recommended_only: 0 },
    manual: { count: 0 },
  },
  transactions_per_second_limit: 828_609,
  worst_data_lag_storage_server: { seconds: 0, versions: 0 },
  worst_durability_lag_storage_server: { seconds: 5, versions: 5_000_000 },
  worst_queue_bytes_log_server: 16_443,
  worst_queue_bytes_storage_server: 2_006,
}

/** Keys below `\xff\x02/status/` are JSON documents that layers such as backup write. */
export const LAYER_STATUS_PREFIX = '\xff\x02/status/'

function layers(database: Database): Json {
  const { state, distributor } = database
  const shard = state.shards.of(LAYER_STATUS_PREFIX)
  const store = shard && distributor.source(shard)?.store
  const documents = [...(store ?? [])].filter(([key]) => key.startsWith(LAYER_STATUS_PREFIX))
  return {
    _valid: true,
    ...Object.fromEntries(
      documents.map(([key, value]) => [key.slice(LAYER_STATUS_PREFIX.length), JSON.parse(value) as unknown]),
    ),
  }
}

function lockState({ lockUid }: State): Json {
  return lockUid === undefined ? { locked: false } : { lock_uid: lockUid, locked: true }
}

/** Whether the configuration can be read, which is stored in the database itself. */
export function isReadable(database: Database): boolean {
  return database.state.available && database.transactions.isReadable('\xff', '\xff\xff')
}

export function clusterDocument(database: Database, view: ClusterView): Json {
  const { state } = database
  const readable = isReadable(database)
  const isFresh = state.generation > 2 && state.now() - state.acceptedAt < FRESH_SECONDS
  const problems = [
    ...unreachableMessages(state),
    ...(isFresh && unreachableMessages(state).length === 0 ? [INCOMPLETE] : []),
  ]
  const base = controllerPart(database, view)
  if (!readable) {
    const messages = [...(state.generation === 1 ? NO_WORKERS : []), ...(state.available ? problems : []), UNREADABLE]
    return sorted({ ...base, layers: { _error: 'configurationMissing', _valid: false }, messages })
  }
  return sorted({ ...base, ...databasePart(database), messages: problems, ...(!isFresh && { qos: QOS }) })
}

function unreachableMessages(state: State): Json[] {
  const lost = unreachableProcesses(state)
  if (lost.length === 0) return []
  const addresses = lost.map(({ description }) => ({ address: withoutTls(description.addresses[0]) }))
  const text = 'The cluster has some unreachable processes.'
  return [{ ...message('unreachable_processes', text), unreachable_processes: addresses }, INCOMPLETE]
}

/** The fields that are read from the database or its roles. */
function databasePart(database: Database): Json {
  const { state } = database
  return {
    active_primary_dc: leadingDatacenters(state.configuration ?? new Map())[0] ?? '',
    configuration: configurationPart(state),
    data: dataDocument(database),
    ...(!state.distribution && { data_distribution_disabled: true }),
    database_available: true,
    database_lock_state: lockState(state),
    fault_tolerance: faultTolerance(database),
    full_replication: true,
    latency_probe: LATENCIES,
    layers: layers(database),
    logs: state.logs.map((generation, index) => logDocument(state, generation, index)),
    ...maintenancePart(state),
    page_cache: { log_hit_rate: 1, storage_hit_rate: 1 },
    workload: WORKLOAD,
  }
}

function configurationPart(state: State): Json {
  const exclusions = [...new Set([...state.exclusions, ...state.failed])].sort()
  return sorted({
    ...configurationDocument(state.configuration ?? new Map()),
    coordinators_count: state.connection.coordinators.length,
    excluded_servers: exclusions.map((exclusion) =>
      exclusion.startsWith('locality_') ? { locality: exclusion } : { address: exclusion },
    ),
  })
}

function maintenancePart(state: State): Json {
  const { maintenance } = state
  if (maintenance === undefined || maintenance.until <= state.now()) return {}
  return {
    maintenance_seconds_remaining: Math.floor(maintenance.until - state.now()),
    maintenance_zone: maintenance.zone,
  }
}

const LATENCIES: Json = {
  batch_priority_transaction_start_seconds: 0.0003,
  commit_seconds: 0.002,
  immediate_priority_transaction_start_seconds: 0.0004,
  read_seconds: 0.0001,
  transaction_start_seconds: 0.0007,
}

const sorted = (document: Json): Json =>
  Object.fromEntries(Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1)))

// `cluster` of `status json`, as the cluster controller answers. Source: fdb-recordings, all `status.json` documents.
//
// C1. During an outage, or before `configure new`, the document has only the fields that the controller knows by itself.

import { formatConnectionString, withoutTls } from './connection-string.ts'
import { configurationDocument, regionsOf, mainDatacenter, REDUNDANCY_MODES } from './configuration.ts'
import type { Database } from './database.ts'
import { machineDocuments, processDocuments, storedBytes } from './status-process.ts'
import type { LogGeneration, Phase, State } from './state.ts'

type Json = Record<string, unknown>

export interface ConnectedClient {
  readonly address: string
  readonly logGroup: string
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
/** How long a lost process is reported as unreachable. Source: SURPRISES 22a. */
const UNREACHABLE_SECONDS = 10

function recoveryState(state: State): Json {
  const isFirst = state.generation === 1 && state.phase === 'recruiting_transaction_servers'
  return {
    ...(!isFirst && { active_generations: Math.max(1, state.logs.length) }),
    description: DESCRIPTIONS[state.phase],
    name: state.phase,
    seconds_since_last_recovered: state.available ? state.now() - state.acceptedAt : -1,
  }
}

/** The fields that are always there. `wallSeconds`: Unix time. */
function controllerPart(database: Database, clients: readonly ConnectedClient[], wallSeconds: number): Json {
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
    ...((state.available || state.generation === 1) && { generation: state.generation }),
    incompatible_connections: [],
    machines: machineDocuments(state),
    processes: processDocuments(state),
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
  }
}

function dataState(database: Database): Json {
  const { state, distributor } = database
  if (state.now() < state.initializingUntil) {
    return { description: '(Re)initializing automatic data distribution', name: 'initializing' }
  }
  const fewest = distributor.fewestReplicas()
  const { replicas } = REDUNDANCY_MODES[state.mode()]
  if (fewest >= replicas) return { healthy: true, min_replicas_remaining: fewest, name: 'healthy' }
  if (fewest === 0 && database.state.shards.shards.some((shard) => distributor.source(shard) === undefined)) {
    return {
      description: 'No replicas remain of some data',
      healthy: false,
      min_replicas_remaining: 0,
      name: 'missing_data',
    }
  }
  const remaining = Math.max(1, fewest)
  const description = remaining === 1 ? 'Only one replica remains of some data' : 'Restoring replication factor'
  return { description, healthy: false, min_replicas_remaining: remaining, name: 'healing' }
}

function dataDocument(database: Database): Json {
  const { state, distributor } = database
  const shown = dataState(database)
  const { moving } = distributor
  const isInitializing = shown['name'] === 'initializing'
  const priority = shown['name'] === 'healthy' ? 0 : shown['min_replicas_remaining'] === 2 ? 700 : 800
  const holders = state.aliveProcesses().filter((process) => process.storage !== undefined)
  const shardBytes = state.shards.shards.map((shard) => {
    const source = distributor.source(shard)
    return source === undefined ? 0 : state.shards.bytes(shard, source)
  })
  const total = shardBytes.reduce((sum, bytes) => sum + bytes, 0)
  return {
    ...(!isInitializing && {
      average_partition_size_bytes: Math.max(20_000_000, Math.round(total / shardBytes.length)),
    }),
    least_operating_space_bytes_log_server: 58_000_000_000,
    least_operating_space_bytes_storage_server: leastSpace(state),
    ...(!isInitializing && {
      moving_data: {
        highest_priority: priority,
        in_flight_bytes: moving?.bytes ?? 0,
        in_queue_bytes: 0,
        total_written_bytes: state.writtenBytes,
      },
      partitions_count: state.shards.shards.length,
    }),
    state: shown,
    ...(!isInitializing && { system_kv_size_bytes: 0 }),
    team_trackers: isInitializing
      ? []
      : [{ in_flight_bytes: moving?.bytes ?? 0, primary: true, state: shown, unhealthy_servers: 0 }],
    total_disk_used_bytes: holders.reduce((sum, process) => sum + 104_861_752 + storedBytes(process), 0),
    ...(!isInitializing && { total_kv_size_bytes: total < 100_000 ? 0 : total }),
  }
}

function leastSpace(state: State): number {
  const isMemory = state.configuration?.get('storage_engine') === '1'
  const free = state
    .aliveProcesses()
    .filter((process) => process.storage !== undefined)
    .map((process) => process.description.storageMemoryBytes - storedBytes(process))
  return isMemory && free.length > 0 ? Math.min(...free) : 58_000_000_000
}

/** How many zones may fail. Source: fdb-recordings 05/005 (one coordinator), 10/048, 13/003, 13/005, 30/009. */
function faultTolerance(database: Database): Json {
  const { state } = database
  const reachable = state.coordinatorsReachable()
  const lost = reachable.filter((alive) => !alive).length
  const coordinators = Math.floor((reachable.length - 1) / 2) - lost
  const { replicas } = REDUNDANCY_MODES[state.mode()]
  const missing = dataState(database)['name'] === 'missing_data'
  const shards = missing ? -1 : replicas - 1
  const zones = Math.min(coordinators, shards)
  return { max_zone_failures_without_losing_availability: zones, max_zone_failures_without_losing_data: zones }
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

function primaryDatacenter(state: State): string {
  const main = regionsOf(state.configuration ?? new Map()).map(mainDatacenter)
  return main.sort((a, b) => (b?.priority ?? -1) - (a?.priority ?? -1))[0]?.id ?? ''
}

/** Whether the configuration can be read, which is stored in the database itself. */
export function isReadable(database: Database): boolean {
  return database.state.available && database.transactions.isReadable('\xff', '\xff\xff')
}

export function clusterDocument(database: Database, clients: readonly ConnectedClient[], wallSeconds: number): Json {
  const { state } = database
  const base = controllerPart(database, clients, wallSeconds)
  const lost = [...state.processes.values()].filter(
    (process) => !process.alive && state.now() - process.lostAt < UNREACHABLE_SECONDS,
  )
  const unreachable = {
    description: 'The cluster has some unreachable processes.',
    name: 'unreachable_processes',
    unreachable_processes: lost.map(({ description }) => ({ address: withoutTls(description.addresses[0]) })),
  }
  if (!isReadable(database)) {
    const workers = state.generation === 1 ? NO_WORKERS : []
    const messages = [...workers, ...(state.available && lost.length > 0 ? [unreachable] : []), UNREADABLE]
    return sorted({ ...base, layers: { _error: 'configurationMissing', _valid: false }, messages })
  }
  const { configuration = new Map<string, string>(), maintenance } = state
  const exclusions = [...new Set([...state.exclusions, ...state.failed])].sort()
  const maintained = maintenance !== undefined && maintenance.until > state.now()
  return sorted({
    ...base,
    active_primary_dc: primaryDatacenter(state),
    configuration: sorted({
      ...configurationDocument(configuration),
      coordinators_count: state.connection.coordinators.length,
      excluded_servers: exclusions.map((exclusion) =>
        exclusion.startsWith('locality_') ? { locality: exclusion } : { address: exclusion },
      ),
    }),
    data: dataDocument(database),
    ...(!state.distribution && { data_distribution_disabled: true }),
    database_available: true,
    database_lock_state: lockState(state),
    fault_tolerance: faultTolerance(database),
    full_replication: true,
    latency_probe: {
      batch_priority_transaction_start_seconds: 0.0003,
      commit_seconds: 0.002,
      immediate_priority_transaction_start_seconds: 0.0004,
      read_seconds: 0.0001,
      transaction_start_seconds: 0.0007,
    },
    layers: layers(database),
    logs: state.logs.map((generation, index) => logDocument(state, generation, index)),
    ...(maintained && {
      maintenance_seconds_remaining: Math.floor(maintenance.until - state.now()),
      maintenance_zone: maintenance.zone,
    }),
    messages: lost.length > 0 ? [unreachable] : [],
    page_cache: { log_hit_rate: 1, storage_hit_rate: 1 },
    qos: QOS,
    workload: WORKLOAD,
  })
}

const sorted = (document: Json): Json =>
  Object.fromEntries(Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1)))

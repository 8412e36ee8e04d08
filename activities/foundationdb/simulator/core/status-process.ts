// `cluster.processes` and `cluster.machines` of `status json`. The figures that depend on a machine (CPU, disk, memory,
// network) are constants of plausible size. Source: fdb-recordings, all `status.json` documents.

import { withoutTls } from './connection-string.ts'
import { engineName } from './configuration.ts'
import { type SimulatedProcess, zoneOf } from './process.ts'
import { compareNames } from './recruitment.ts'
import { classSource } from './system-keys.ts'
import type { State } from './state.ts'

type Json = Record<string, unknown>

const DISK_TOTAL = 270_553_174_016
const DISK_FREE = 71_894_179_840
/** Two log files of 50 MB each, also when they are empty. */
const LOG_FILE_BYTES = 104_861_752
/** Sizes are sampled; smaller ones count as 0. Source: fdb-recordings 05/005. */
export const SAMPLE_BYTES = 100_000
const LOCALITY_SECONDS = 0.5

const counter = (value = 0): Json => ({ counter: value, hz: 0, roughness: -1 })

export function storedBytes({ store }: SimulatedProcess): number {
  let sum = 0
  for (const [key, value] of store) sum += key.length + value.length
  return sum
}

function logRole(id: string, version: number): Json {
  return {
    data_version: version,
    durable_bytes: counter(),
    id,
    input_bytes: counter(),
    kvstore_available_bytes: DISK_FREE,
    kvstore_free_bytes: DISK_FREE,
    kvstore_total_bytes: DISK_TOTAL,
    kvstore_used_bytes: LOG_FILE_BYTES,
    queue_disk_available_bytes: DISK_FREE,
    queue_disk_free_bytes: DISK_FREE,
    queue_disk_total_bytes: DISK_TOTAL,
    queue_disk_used_bytes: 520_192,
    role: 'log',
  }
}

function storageRole(state: State, process: SimulatedProcess, version: number): Json {
  const stored = storedBytes(process)
  const isMemory = engineName(state.configuration ?? new Map()).startsWith('memory')
  const total = isMemory ? process.description.storageMemoryBytes : DISK_TOTAL
  const free = isMemory ? total - stored : DISK_FREE
  const created = new Date(Date.UTC(2026, 0, 1)).toISOString()
  const names = ['bytes_queried', 'durable_bytes', 'fetched_versions', 'fetches_from_logs', 'finished_queries']
  const more = ['input_bytes', 'keys_queried', 'low_priority_queries', 'mutation_bytes', 'mutations', 'total_queries']
  return {
    ...Object.fromEntries([...names, ...more].map((name) => [name, counter()])),
    data_lag: { seconds: 0.3, versions: 300_000 },
    data_version: version,
    durability_lag: { seconds: 5, versions: 5_000_000 },
    durable_version: Math.max(0, version - 5_000_000),
    id: process.storage?.id,
    kvstore_available_bytes: free,
    kvstore_free_bytes: free,
    kvstore_inline_keys: 0,
    kvstore_total_bytes: total,
    kvstore_total_nodes: 0,
    kvstore_total_size: 0,
    kvstore_used_bytes: LOG_FILE_BYTES + stored,
    local_rate: 100,
    query_queue_max: 0,
    role: 'storage',
    storage_metadata: {
      created_time_datetime: `${created.slice(0, 10)} ${created.slice(11, 23)} +0000`,
      created_time_timestamp: Date.parse(created) / 1000,
    },
    stored_bytes: stored < SAMPLE_BYTES ? 0 : stored,
  }
}

/** In the order of FoundationDB. Source: fdb-recordings 16d/002. */
const BEFORE = ['master', 'cluster_controller', 'data_distributor', 'ratekeeper'] as const
const PROXIES = ['commit_proxy', 'grv_proxy'] as const
const AFTER = ['resolver', 'router'] as const

function rolesOf(state: State, process: SimulatedProcess, isReadable: boolean): Json[] {
  if (!process.alive) return []
  const { id, addresses } = process.description
  const version = state.nextVersion()
  const stateless = (names: readonly ('router' | (typeof BEFORE | typeof PROXIES | typeof AFTER)[number])[]): Json[] =>
    names
      .filter((role) => state.roles.get(role)?.includes(id))
      .map((role) => ({ id: state.roleId(`${role}/${id}/${String(state.generation)}`), role }))
  const isCoordinator = isReadable && addresses.some((own) => state.connection.coordinators.includes(own))
  const logs = state.available ? state.logs : []
  const interfaces = logs.flatMap((generation) => generation.interfaces.filter((log) => log.process === id))
  const current = state.logs[0]?.interfaces ?? []
  return [
    ...stateless(BEFORE),
    ...(isCoordinator ? [{ role: 'coordinator' }] : []),
    ...(isReadable ? stateless(PROXIES) : []),
    ...interfaces.map((log) => (current.includes(log) ? logRole(log.id, version) : { id: log.id, role: 'log' })),
    ...(process.storage !== undefined && isReadable ? [storageRole(state, process, version)] : []),
    ...stateless(AFTER),
  ]
}

function processDocument(state: State, process: SimulatedProcess, isReadable: boolean): Json {
  const { description } = process
  const uptime = state.now() - process.startedAt
  const zone = zoneOf(process)
  const maintained = state.maintenance?.zone === zone && state.maintenance.until > state.now()
  return {
    address: description.addresses[0],
    class_source: classSource(state, process),
    class_type: state.classOf(process),
    command_line: description.commandLine,
    cpu: { usage_cores: 0.01 },
    disk: {
      busy: 0.05,
      free_bytes: DISK_FREE,
      reads: { counter: 0, hz: 0, sectors: 0 },
      total_bytes: DISK_TOTAL,
      writes: { counter: 0, hz: 0, sectors: 0 },
    },
    ...(isReadable && { excluded: state.isExcluded(process) }),
    fault_domain: zone,
    ...(uptime >= LOCALITY_SECONDS && { locality: localityOf(process) }),
    machine_id: description.locality['machineid'] ?? zone,
    memory: {
      available_bytes: description.memoryBytes,
      limit_bytes: description.memoryBytes,
      rss_bytes: 48_967_680,
      unused_allocated_memory: 0,
      used_bytes: 350_000_000,
    },
    messages: description.clusterFileUpToDate ? [] : [INCORRECT_FILE],
    network: {
      connection_errors: { hz: 0 },
      connections_closed: { hz: 0 },
      connections_established: { hz: 0 },
      current_connections: 4,
      megabits_received: { hz: 0.1 },
      megabits_sent: { hz: 0.1 },
      tls_policy_failures: { hz: 0 },
    },
    roles: rolesOf(state, process, isReadable),
    run_loop_busy: 0.01,
    ...(maintained && { under_maintenance: true }),
    uptime_seconds: uptime,
    version: description.version,
  }
}

const INCORRECT_FILE = {
  description:
    'Cluster file contents do not match current cluster connection string. Verify the cluster file and its parent directory are writable and that the cluster file has not been overwritten externally.',
  name: 'incorrect_cluster_file_contents',
}

const localityOf = ({ description }: SimulatedProcess): Json =>
  Object.fromEntries(
    Object.entries({ ...description.locality, processid: description.id }).sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** How long a lost process is still listed, and reported as unreachable. Source: fdb-recordings 06/026, 08/118, 13/004. */
export const UNREACHABLE_SECONDS = 5

/** Processes that were lost some seconds ago. */
export function unreachableProcesses(state: State): SimulatedProcess[] {
  return [...state.processes.values()].filter(
    (process) => !process.alive && state.now() - process.lostAt < UNREACHABLE_SECONDS,
  )
}

/** `isReadable`: whether the controller can read the configuration. */
export function processDocuments(state: State, isReadable: boolean): Json {
  const listed = [...state.aliveProcesses(), ...unreachableProcesses(state)]
  const sorted = listed.sort((a, b) => (a.description.id < b.description.id ? -1 : 1))
  return Object.fromEntries(
    sorted.map((process) => [process.description.id, processDocument(state, process, isReadable)]),
  )
}

function datacenterOf(process: SimulatedProcess | undefined): Json {
  const id = process?.description.locality['dcid']
  return id === undefined ? {} : { datacenter_id: id }
}

export function machineDocuments(state: State): Json {
  const machines = new Map<string, SimulatedProcess[]>()
  for (const process of state.aliveProcesses().sort(compareNames)) {
    const id = process.description.locality['machineid'] ?? zoneOf(process)
    machines.set(id, [...(machines.get(id) ?? []), process])
  }
  return Object.fromEntries(
    [...machines].map(([id, processes]) => [
      id,
      {
        address: withoutTls(processes[0]?.description.addresses[0] ?? '').replace(/:\d+$/, ''),
        contributing_workers: processes.length,
        cpu: { logical_core_utilization: 0.2 },
        ...datacenterOf(processes[0]),
        excluded: processes.every((process) => state.isExcluded(process)),
        ...(processes[0] && { locality: localityOf(processes[0]) }),
        machine_id: id,
        memory: { committed_bytes: 3_108_749_312, free_bytes: 22_167_752_704, total_bytes: 25_276_502_016 },
        network: {
          megabits_received: { hz: 0.1 },
          megabits_sent: { hz: 0.1 },
          tcp_segments_retransmitted: { hz: 0 },
        },
      },
    ]),
  )
}

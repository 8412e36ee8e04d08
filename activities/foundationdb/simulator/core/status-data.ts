// `cluster.data` and `cluster.fault_tolerance` of `status json`. Source: fdb-recordings 08, 14, 19, 28 to 30.

import { REDUNDANCY_MODES } from './configuration.ts'
import type { Database } from './database.ts'
import { SAMPLE_BYTES, storedBytes } from './status-process.ts'
import type { State } from './state.ts'

type Json = Record<string, unknown>

const DISK_SPACE = 58_000_000_000
/** The files of a storage server without keys. */
const EMPTY_BYTES = 104_861_752

export function dataState(database: Database): Json {
  const { state, distributor } = database
  if (state.now() < state.initializingUntil) {
    return { description: '(Re)initializing automatic data distribution', name: 'initializing' }
  }
  const fewest = distributor.publishedReplicas()
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

function remoteTracker(state: State, shown: Json): Json[] {
  if (state.remoteReadyAt === undefined) return []
  const populating = {
    description: 'Populating remote region',
    healthy: true,
    min_replicas_remaining: shown['min_replicas_remaining'],
    name: 'healthy_populating_region',
  }
  const isReady = state.now() >= state.remoteReadyAt
  return [{ in_flight_bytes: 0, primary: false, state: isReady ? shown : populating, unhealthy_servers: 0 }]
}

export function dataDocument(database: Database): Json {
  const { state } = database
  const shown = dataState(database)
  const holders = state.aliveProcesses().filter((process) => process.storage !== undefined)
  return {
    least_operating_space_bytes_log_server: DISK_SPACE,
    least_operating_space_bytes_storage_server: leastSpace(state),
    state: shown,
    total_disk_used_bytes: holders.reduce((sum, process) => sum + EMPTY_BYTES + storedBytes(process), 0),
    ...(shown['name'] === 'initializing' ? {} : distributorFigures(database, shown)),
  }
}

/** The figures that the data distributor counts first after its start. */
function distributorFigures({ state, distributor }: Database, shown: Json): Json {
  const moving = distributor.moving?.bytes ?? 0
  const sizes = state.shards.shards.map((shard) => {
    const source = distributor.source(shard)
    return source === undefined ? 0 : state.shards.bytes(shard, source)
  })
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0)
  return {
    average_partition_size_bytes: Math.max(20_000_000, Math.round(total / sizes.length)),
    moving_data: {
      highest_priority: priorityOf(shown),
      in_flight_bytes: moving,
      in_queue_bytes: 0,
      total_written_bytes: state.writtenBytes,
    },
    partitions_count: sizes.length,
    system_kv_size_bytes: 0,
    team_trackers: [
      { in_flight_bytes: moving, primary: true, state: shown, unhealthy_servers: 0 },
      ...remoteTracker(state, shown),
    ],
    total_kv_size_bytes: total < SAMPLE_BYTES ? 0 : total,
  }
}

/** Source: fdb-recordings, `moving_data.highest_priority` of all documents. */
function priorityOf({ healthy, min_replicas_remaining: replicas }: Json): number {
  if (healthy === true) return 0
  return replicas === 2 ? 700 : 800
}

function leastSpace(state: State): number {
  const isMemory = state.configuration?.get('storage_engine') === '1'
  const free = state
    .aliveProcesses()
    .filter((process) => process.storage !== undefined)
    .map((process) => process.description.storageMemoryBytes - storedBytes(process))
  return isMemory && free.length > 0 ? Math.min(...free) : DISK_SPACE
}

/** How many zones may fail. Source: fdb-recordings 05/005 (one coordinator), 10/048, 13/003, 13/005, 30/009. */
export function faultTolerance(database: Database): Json {
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

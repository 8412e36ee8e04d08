// Answers requests of clients from a simulated database. Waits take as long as the real ones, in seconds of the clock.

import { sleep } from './clock.ts'
import type { Database } from './database.ts'
import { DatabaseError } from './database-error.ts'
import {
  automaticCoordinators,
  changeCoordinators,
  configure,
  exclude,
  exclusionStates,
  include,
  listExclusions,
} from './management.ts'
import { nameOf } from './process.ts'
import { processClass } from './process-class.ts'
import { compareNames } from './recruitment.ts'
import { recoverIfBetter } from './recovery.ts'
import { clusterDocument, isReadable, type ConnectedClient } from './status-document.ts'
import { UNREACHABLE_SECONDS } from './status-process.ts'
import { classSource, specialRows } from './system-keys.ts'
import type { ClientOperations } from '../protocol.ts'

export type ClientHandlers = {
  readonly [N in keyof ClientOperations]: (
    params: ClientOperations[N]['params'],
  ) => Promise<ClientOperations[N]['result']> | ClientOperations[N]['result']
}

/** How long status waits for parts that do not answer. Source: SURPRISES 4. */
const UNREADABLE_SECONDS = 6
const LOST_PROCESS_SECONDS = 2
const LOST_COORDINATOR_SECONDS = 1.5
/** How long after a change of its class a process may get or lose roles. */
const CLASS_SECONDS = 1

export interface ClientEnvironment {
  /** Clients of the last minutes. */
  readonly clients: () => readonly ConnectedClient[]
  /** Addresses of processes that cannot join because of their version. */
  readonly incompatible: () => readonly string[]
  /** Unix time in seconds. */
  readonly wallSeconds: () => number
}

export function clientHandlers(database: Database, environment: ClientEnvironment): ClientHandlers {
  return {
    ...keyHandlers(database),
    ...processHandlers(database),
    ...settingHandlers(database),
    ...tenantHandlers(database),
    status: async () => {
      await sleep(database.state.clock, statusSeconds(database))
      return clusterDocument(database, {
        clients: environment.clients(),
        incompatible: environment.incompatible(),
        wallSeconds: environment.wallSeconds(),
      })
    },
  }
}

function statusSeconds(database: Database): number {
  const { state } = database
  if (!state.available) return UNREADABLE_SECONDS
  if (!isReadable(database)) return UNREADABLE_SECONDS - 1
  const lost = [...state.processes.values()].some(
    (process) =>
      !process.alive &&
      ((process.storage !== undefined && !state.isExcluded(process)) ||
        state.now() - process.lostAt < UNREACHABLE_SECONDS),
  )
  if (state.coordinatorsReachable().includes(false)) return LOST_COORDINATOR_SECONDS
  return lost ? LOST_PROCESS_SECONDS : 0
}

function keyHandlers({ state, transactions }: Database) {
  return {
    readVersion: async (params) => await transactions.readVersion(params),
    range: async ({ begin, end, limit, ...options }) => await transactions.range(begin, end, limit, options),
    special: ({ clusterFile }) => specialRows(state, clusterFile),
    commit: async (params) => await transactions.commit(params),
    locations: async ({ begin, end }) => {
      await state.until(() => state.available && state.shards.shards.length > 0)
      return state.shards.overlapping(begin, end).map((shard) => ({
        begin: shard.begin,
        end: state.shards.endOf(shard),
        addresses: shard.team
          .flatMap((id) => state.processes.get(id) ?? [])
          .map(nameOf)
          .sort(),
      }))
    },
  } satisfies Partial<ClientHandlers>
}

function processHandlers(database: Database) {
  const { state, distributor } = database
  return {
    workers: async () => {
      // Without a quorum of coordinators clients do not learn of processes. Source: fdb-recordings 13/023.
      await state.until(() => state.hasQuorum())
      return database.killable()
    },
    kill: ({ incarnations }): true => {
      database.kill(incarnations)
      return true
    },
    exclude: async (params) => (await exclude(state, distributor, params)) ?? 'stored',
    exclusionStates: ({ exclusions }) => exclusionStates(state, exclusions),
    exclusions: async () => await listExclusions(state),
    include: async ({ exclusions, failed }): Promise<true> => {
      await include(state, exclusions, failed)
      return true
    },
    classes: async () => {
      await state.until(() => state.available && state.lockUid === undefined)
      const processes = database.workers().sort(compareNames)
      return processes.map((process) => [nameOf(process), state.classOf(process), classSource(state, process)] as const)
    },
    setClass: async ({ address, name }) => {
      await state.until(() => state.available && state.lockUid === undefined)
      const chosen = processClass(name)
      if (chosen === undefined && name !== 'default') return 'unknown_class'
      if (database.named(address) === undefined) return 'unknown_address'
      if (chosen === undefined) state.classes.delete(address)
      else state.classes.set(address, chosen)
      state.clock.after(CLASS_SECONDS, () => {
        recoverIfBetter(state)
      })
      state.changed()
      return 'set'
    },
  } satisfies Partial<ClientHandlers>
}

function settingHandlers({ state }: Database) {
  const available = async () => {
    await state.until(() => state.available)
  }
  return {
    configure: async (params) => await configure(state, params),
    coordinators: async (params) => await changeCoordinators(state, params),
    automaticCoordinators: async () => (await automaticCoordinators(state)) ?? 'good',
    maintenance: async () => {
      await available()
      const { maintenance } = state
      if (maintenance === undefined || maintenance.until <= state.now()) return 'none'
      return { zone: maintenance.zone, seconds: Math.floor(maintenance.until - state.now()) }
    },
    setMaintenance: async ({ zone, seconds = 0 }): Promise<true> => {
      await available()
      if (seconds < 0) throw new DatabaseError(2117)
      state.maintenance = zone === undefined || seconds === 0 ? undefined : { zone, until: state.now() + seconds }
      state.changed()
      return true
    },
    lock: async ({ uid }): Promise<'locked' | 'other'> => {
      await available()
      if (state.lockUid !== undefined && state.lockUid !== uid) return 'other'
      state.lockUid = uid
      state.changed()
      return 'locked'
    },
    unlock: async ({ uid }): Promise<'unlocked' | 'other'> => {
      await available()
      if (state.lockUid !== undefined && state.lockUid !== uid) return 'other'
      state.lockUid = undefined
      state.changed()
      return 'unlocked'
    },
    consistencyCheck: async ({ on }) => {
      await available()
      state.consistencyCheck = on ?? state.consistencyCheck
      return state.consistencyCheck
    },
    distribution: async ({ on }) => {
      await available()
      state.distribution = on
      return on
    },
  } satisfies Partial<ClientHandlers>
}

function tenantHandlers({ state }: Database) {
  const available = async () => {
    await state.until(() => state.available)
  }
  return {
    tenants: async () => {
      await available()
      return [...state.tenants].sort()
    },
    createTenant: async ({ name }): Promise<true> => {
      await available()
      if ((state.configuration?.get('tenant_mode') ?? '0') === '0') throw new DatabaseError(2136)
      if (state.tenants.includes(name)) throw new DatabaseError(2132)
      state.tenants.push(name)
      state.changed()
      return true
    },
    deleteTenant: async ({ name }): Promise<true> => {
      await available()
      if (!state.tenants.includes(name)) throw new DatabaseError(2131)
      state.tenants = state.tenants.filter((known) => known !== name)
      state.changed()
      return true
    },
  } satisfies Partial<ClientHandlers>
}

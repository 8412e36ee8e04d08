// The protocol between the simulated tools and processes: JSON lines over TCP.
//
// P1. A request `{id, op, params}` gets exactly one answer `{id, result}` or `{id, error: {code, message}}`, unless the
//   connection ends first.
// P2. Events `{event, ...}` are pushed by the process that leads the simulation to the processes that registered.
// Addresses have FoundationDB's form (`IP:PORT`, with or without `:tls`); connections are never encrypted.

import type { ConnectionString } from './core/connection-string.ts'
import type {
  ConfigureRequest,
  ConfigureResult,
  ExcludeRefusal,
  ExcludeRequest,
  ExclusionStates,
} from './core/management.ts'
import type { ProcessDescription } from './core/process.ts'
import type { CoordinatedState, Mutation } from './core/state.ts'
import type { Commit, ReadOptions } from './core/transactions.ts'

type Pairs = readonly (readonly [key: string, value: string])[]

/** Requests of clients to the leading process. */
export interface ClientOperations {
  /** Resolves as soon as the database is available. */
  readVersion: { params: ReadOptions; result: number }
  /** `limit` 0: no limit. Keys and values are byte strings (core/byte-string.ts). */
  range: { params: ReadOptions & { begin: string; end: string; limit: number }; result: Pairs }
  /** Keys below `\xff\xff`, except status. */
  special: { params: { clusterFile: string }; result: Pairs }
  /** The result is the version. */
  commit: { params: Commit; result: number }
  /** `cluster` of `status json`. */
  status: { params: Record<string, never>; result: Record<string, unknown> }
  /** Addresses that can be killed, with a text that changes with each start of the process. */
  workers: { params: Record<string, never>; result: Pairs }
  kill: { params: { incarnations: readonly string[] }; result: true }
  configure: { params: ConfigureRequest; result: ConfigureResult }
  exclude: { params: ExcludeRequest; result: ExcludeRefusal | 'stored' }
  exclusionStates: { params: { exclusions: readonly string[] }; result: ExclusionStates }
  exclusions: { params: Record<string, never>; result: readonly string[] }
  include: { params: { exclusions: readonly string[]; failed: boolean }; result: true }
  coordinators: {
    params: { coordinators?: readonly string[]; description?: string }
    result: 'changed' | 'same' | 'unreachable'
  }
  automaticCoordinators: { params: Record<string, never>; result: readonly string[] | 'good' }
  classes: {
    params: Record<string, never>
    result: readonly (readonly [address: string, name: string, source: string])[]
  }
  /** `default` removes the setting. */
  setClass: { params: { address: string; name: string }; result: 'set' | 'unknown_address' | 'unknown_class' }
  maintenance: { params: Record<string, never>; result: { zone: string; seconds: number } | 'none' }
  /** Without `zone`: off. */
  setMaintenance: { params: { zone?: string; seconds?: number }; result: true }
  lock: { params: { uid: string }; result: 'locked' | 'other' }
  unlock: { params: { uid: string }; result: 'unlocked' | 'other' }
  /** Switches of the whole database. Without `on` the present value. */
  consistencyCheck: { params: { on?: boolean }; result: boolean }
  distribution: { params: { on: boolean }; result: boolean }
  tenants: { params: Record<string, never>; result: readonly string[] }
  createTenant: { params: { name: string }; result: true }
  deleteTenant: { params: { name: string }; result: true }
  /** Shards that overlap the range, with the processes that hold them. */
  locations: {
    params: { begin: string; end: string }
    result: readonly { begin: string; end: string; addresses: readonly string[] }[]
  }
}

/** Requests that every fdbserver answers. */
export interface ServerOperations {
  /**
   * `key` is `protocol/description:id`; `process` the address of the fdbserver that asks. `leader` is an address; `moved`
   * the newer connection string.
   */
  locate: { params: { key: string; process?: string }; result: { leader?: string; moved?: string } }
  /** Granted until the connection ends, to one candidate at a time. */
  vote: { params: { key: string; candidate: string }; result: { granted: boolean; state?: CoordinatedState } }
  /** From the leader to the coordinators that voted for it. */
  save: { params: { state: CoordinatedState }; result: true }
  /** A process with the keys of its data directory. */
  register: { params: { description: ProcessDescription; stored: Pairs }; result: true }
  /** A changed description. */
  update: { params: { description: ProcessDescription }; result: true }
  /** The process has persisted the event with this number. */
  persisted: { params: { number: number }; result: true }
  /** A client with its log group. */
  client: { params: { logGroup: string }; result: { connection: ConnectionString } }
}

export type Operations = ClientOperations & ServerOperations
export type OperationName = keyof Operations
export type Params<N extends OperationName> = Operations[N]['params']
export type Result<N extends OperationName> = Operations[N]['result']

export type ServerEvent =
  | { readonly event: 'persist'; readonly number: number; readonly mutations: readonly Mutation[] }
  | { readonly event: 'exit' }
  | { readonly event: 'connection'; readonly connection: ConnectionString }

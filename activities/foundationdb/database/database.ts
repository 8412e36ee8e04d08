// The database of one cluster, as Pawl's activities use it. The adapter (fdbcli-database.ts) runs FoundationDB's tools; tests of the controllers have an
// implementation in memory. Source: spec/foundationdb.md 4.1.
//
//   D1. Every method can be called again after a failure or a lost result; `configure` with `isNew` then fails with `exists`.
//   D2. A method that fails throws `CommandFailure` (fdbcli-output.ts): after `timeout` the command may be in force, after `refused` it is not.

import type { ExclusionReport, KeyValue } from './fdbcli-output.ts'
import type { DatabaseStatus } from './status.ts'

export interface Database {
  /** The state. An unreachable database has a status, too: `isAvailable` is false. */
  status(): Promise<DatabaseStatus>
  /** @param configuration such as `double ssd-2 usable_regions=1 logs=3`. `isNew` creates the database. */
  configure(configuration: string, options: { readonly isNew: boolean }): Promise<void>
  /**
   * @param targets addresses without port flags, or localities such as `locality_instance_id:storage-1`. `waits` until the data has moved away; otherwise
   * returns at once.
   */
  exclude(targets: readonly string[], options: { readonly waits: boolean }): Promise<readonly ExclusionReport[]>
  include(targets: readonly string[]): Promise<void>
  /** Ends the processes; their monitor restarts them. `isUpgrade` kills twice, one second apart. @param addresses `IP:port` without flags. */
  kill(addresses: readonly string[], options: { readonly isUpgrade: boolean }): Promise<void>
  /** @param addresses with `:tls` where the process has it. @returns the new connection string. */
  changeCoordinators(addresses: readonly string[]): Promise<string>
  /** The connection string that the database stores. */
  connectionString(): Promise<string>
  /** Tells the database that a zone's processes are missing on purpose for some time. */
  startMaintenance(zone: string, seconds: number): Promise<void>
  endMaintenance(): Promise<void>
  /** The pairs whose keys begin with the prefix, in the order of the keys. System keys are included. */
  readPrefix(prefix: Uint8Array): Promise<readonly KeyValue[]>
  /** Writes in one transaction; system keys are included. */
  write(changes: readonly KeyChange[]): Promise<void>
  /**
   * Reads keys, decides and writes in one transaction: if another client changes a read key meanwhile, nothing is written.
   *
   * @param decide reads keys one after the other, and returns the changes. Without changes nothing is committed.
   * @throws CommandFailure `refused` after a conflict; the errors of `decide`.
   */
  transact(decide: (read: ReadKey) => Promise<readonly KeyChange[]>): Promise<void>
}

/** @returns the value of the key; undefined if it has none. */
export type ReadKey = (key: Uint8Array) => Promise<Uint8Array | undefined>

/** Sets a key, or clears it without a value. */
export interface KeyChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** How to reach a database. */
export interface DatabaseAddress {
  readonly connectionString: string
  /** The version of its processes, which selects the tools. */
  readonly version: string
}

/** Opens databases; the adapter is one, and tests have another. */
export interface DatabaseProvider {
  /** @param signal ends the calls, with their child processes. */
  open(address: DatabaseAddress, signal: AbortSignal): Database
  isSupported(version: string): Promise<boolean>
  protocolOf(version: string): Promise<string>
}

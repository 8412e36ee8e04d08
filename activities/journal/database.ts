// Table types of the journal and the connection to it. Source: docs/concepts/architecture.md "Journal"; the columns' meaning is in migrations/.

import {
  type ColumnType,
  type Generated,
  type GeneratedAlways,
  type JSONColumnType,
  Kysely,
  type LogEvent,
  PostgresDialect,
} from 'kysely'
import pg from 'pg'
import { readJson } from '../../workflows/kit/index.ts'
import { CleanTextPlugin } from './clean-text.ts'
import { type ConnectionLimits, connectionConfig, PreparingClient } from './connection.ts'

/** A JSON object. Projections are allow-listed parts of Kubernetes objects in the objects' own structure. */
export type Json = Readonly<Record<string, unknown>>
type Timestamp = ColumnType<Date, Date, Date>
type NullableTimestamp = ColumnType<Date | null, Date | null | undefined, Date | null>
type JsonColumn<T extends object> = JSONColumnType<T>
type NullableJsonColumn<T extends object> = JSONColumnType<T | null, string | null | undefined, string | null>

export interface WatchEventTable {
  seq: Generated<number>
  at: Timestamp
  cluster: string
  /** The API group without version; '' for the core group. `?`: journaled before the journal had groups. */
  api_group: string
  kind: string
  uid: string
  namespace: string
  name: string
  resource_version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  source: 'watch' | 'relist' | 'write'
  /** Workflow ID of the run that wrote this version; null for another writer. */
  writer: string | null
  /** Field manager of a version without `writer`, if managedFields names one; the client chooses the name. */
  manager: string | null
  projection: JsonColumn<Json>
  outcome: 'wake' | 'ignored' | 'stale'
  reason: string | null
}

export interface ObjectTable {
  cluster: string
  api_group: string
  kind: string
  uid: string
  namespace: string
  name: string
  owner_uid: string | null
  resource_version: number
  seq: number
  projection: JsonColumn<Json>
  hash: string | null
  deleted: boolean
  /** A list did not contain the object; no DELETED event was received. */
  presumed_deleted: boolean
  updated_at: Timestamp
}

export interface WatchCheckpointTable {
  cluster: string
  api_group: string
  kind: string
  /** Null before the first list. */
  resource_version: number | null
  epoch: number
  lease_owner: string | null
  lease_until: NullableTimestamp
  updated_at: NullableTimestamp
  /** Timeline of PostgreSQL's log at the time of the list (conditions.ts, L1). Null: written by a previous version. */
  timeline: string | null
  /** The only watched namespace; '': all. Null: written by a previous version. */
  namespace: string | null
}

export interface WakeTable {
  controller: string
  uid: string
  job_id: string
  cluster: string
  namespace: string
  name: string
  seq: number
  version: number
  due: Timestamp
  foreign_event: boolean
  may_start: boolean
  writer: string | null
  cause: string
  lease_owner: string | null
  lease_until: NullableTimestamp
  /**
   * Values of wakes that arrived while the row was leased; they replace the columns above when the leased version is
   * acknowledged.
   */
  next_due: NullableTimestamp
  next_foreign_event: boolean | null
  next_may_start: boolean | null
}

export interface SubscriptionTable {
  controller: string
  uid: string
  job_id: string
  cluster: string
  api_group: string
  kind: string
  namespace: string
  name: string
  /** In level mode: the subscription matches only objects that have, or had, all of these index keys. */
  traits: ColumnType<readonly string[], readonly string[] | undefined, never>
  created_at: Timestamp
}

export interface JobTable {
  workflow_id: string
  run_id: string | null
  controller: string
  cluster: string
  uid: string
  job_id: string
  namespace: string
  name: string
  cause: string
  phase: string | null
  phases: ColumnType<{ phase: string; at: string }[], string | undefined, string>
  /**
   * Null while open; otherwise Succeeded, Failed, DeleteFailed, Deleted, Superseded or lost. Finished: the object
   * already had its next job when this end was observed.
   */
  outcome: string | null
  attempt: number
  last_error: NullableJsonColumn<Json>
  passes: number
  last_pass_at: NullableTimestamp
  started_at: Timestamp
  finished_at: NullableTimestamp
  lookup_after: NullableTimestamp
  lookups: number
  /** The partitions of hosted subjects that the run handles; null: all. */
  serves: string[] | null
  /** How often the run was ended and restarted because of changed code. */
  restarts: Generated<number>
  restarted_at: NullableTimestamp
}

/** The job of a child that a run hosts. */
export interface HostedJobTable {
  workflow_id: string
  controller: string
  cluster: string
  uid: string
  job_id: string
  namespace: string
  name: string
  phase: string
  phases: ColumnType<{ phase: string; at: string }[], string, string>
  /** Null while the job is open. */
  outcome: string | null
  last_error: NullableJsonColumn<Json>
  started_at: Timestamp
  finished_at: NullableTimestamp
}

/** View over the jobs of objects with their own runs and hosted jobs; read only. */
export type ObjectJobView = Pick<
  JobTable,
  | 'workflow_id'
  | 'controller'
  | 'cluster'
  | 'uid'
  | 'job_id'
  | 'namespace'
  | 'name'
  | 'cause'
  | 'phase'
  | 'phases'
  | 'outcome'
> &
  Pick<JobTable, 'last_error' | 'started_at' | 'finished_at'>

export interface ActionTable {
  seq: Generated<number>
  workflow_id: string
  run_id: string
  pass: number
  step: string
  /** `objectText` of actions.ts; the four columns below are its parts. */
  object: string
  api_group: GeneratedAlways<string>
  kind: GeneratedAlways<string>
  namespace: GeneratedAlways<string>
  name: GeneratedAlways<string>
  verb: string
  field_manager: string
  resource_version: number | null
  error: NullableJsonColumn<Json>
  started_at: Timestamp
  finished_at: NullableTimestamp
}

/** The permit of a running pass, for controllers that limit their concurrent passes. */
export interface PassTurnTable {
  cluster: string
  controller: string
  uid: string
  workflow_id: string
  since: Timestamp
}

/** The last heartbeat of a process. */
export interface HeartbeatTable {
  cluster: string
  owner: string
  role: string
  place: string
  serves: string[]
  wrong: string[]
  every_ms: number
  started_at: Generated<Date>
  at: Timestamp
}

/** The token bucket of a controller's retries in a namespace. */
export interface RetryTurnTable {
  cluster: string
  controller: string
  namespace: string
  tokens: number
  updated_at: Timestamp
}

export interface Database {
  watch_event: WatchEventTable
  object: ObjectTable
  watch_checkpoint: WatchCheckpointTable
  wake: WakeTable
  subscription: SubscriptionTable
  job: JobTable
  hosted_job: HostedJobTable
  object_job: ObjectJobView
  action: ActionTable
  retry_turn: RetryTurnTable
  pass_turn: PassTurnTable
  heartbeat: HeartbeatTable
}

// Sequence numbers and resourceVersions stay far below 2^53, so int8 is read as a number.
const INT8_OID = 20
const JSON_OID = 114
const JSONB_OID = 3802

// A process that stops in the middle of a transaction keeps its row locks, and its successor waits for them. The limit
// equals the time limits of a workflow task and a claimed wake.
const IDLE_TRANSACTION_MS = 10_000

export interface DatabaseOptions extends ConnectionLimits {
  /**
   * True: a commit does not wait for the disk (synchronous_commit=off). Use it for rows that Pawl recreates after a
   * crash of PostgreSQL: claims and acknowledgements of wakes, rows of runs, and intents of writes. A later synchronous
   * commit also persists these rows.
   */
  readonly asyncCommit?: boolean
  /** True: the server refuses writes on these connections. */
  readonly readOnly?: boolean
  /** Milliseconds after which PostgreSQL ends an idle transaction (10,000). */
  readonly idleTransactionMs?: number
  /** Called for each statement of the query builder. */
  readonly onStatement?: (statement: { readonly isOk: boolean; readonly seconds: number }) => void
}

/** Makes a new connection read-only before its first statement; if this fails, the connection is not used. */
function refuseWrites(client: pg.PoolClient, done: (error?: Error) => void): void {
  client.query('set session characteristics as transaction read only').then(() => done(), done)
}

/** Opens a pool of connections to the journal; the caller ends it with `destroy()`. */
export function openDatabase(
  url: string,
  maxConnections = 10,
  {
    asyncCommit = false,
    readOnly = false,
    idleTransactionMs = IDLE_TRANSACTION_MS,
    onStatement,
    ...limits
  }: DatabaseOptions = {},
): Kysely<Database> {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8_OID, Number)
  // Projections may contain integers that a double cannot represent.
  types.setTypeParser(JSON_OID, readJson)
  types.setTypeParser(JSONB_OID, readJson)
  const settings = asyncCommit ? { options: '-c synchronous_commit=off' } : {}
  const pool = new pg.Pool({
    ...connectionConfig(url, limits),
    max: maxConnections,
    types,
    Client: PreparingClient,
    ...settings,
    idle_in_transaction_session_timeout: idleTransactionMs,
    ...(readOnly && { verify: refuseWrites }),
  })
  // The pool replaces a broken idle connection; the next query reports the real error.
  pool.on('error', () => undefined)
  // A connection that breaks during a transaction also rejects its query. Without a listener this event would end the
  // process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CleanTextPlugin()],
    ...(onStatement !== undefined && {
      log: ({ level, queryDurationMillis }: LogEvent) => {
        onStatement({ isOk: level === 'query', seconds: queryDurationMillis / 1000 })
      },
    }),
  })
}

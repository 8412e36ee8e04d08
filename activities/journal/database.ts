// Table types of the journal and the connection to it. Source: docs/architecture.md "Journal"; the columns' meaning is in migrations/.

import {
  type ColumnType,
  type Generated,
  type GeneratedAlways,
  type JSONColumnType,
  Kysely,
  PostgresDialect,
} from 'kysely'
import pg from 'pg'
import { readJson } from '../../workflows/kit/index.ts'
import { CleanTextPlugin } from './clean-text.ts'
import { type ConnectionLimits, connectionConfig, PreparingClient } from './connection.ts'

/** Any JSON object; projections are allow-listed parts of Kubernetes objects in their own shape. */
export type Json = Readonly<Record<string, unknown>>
type Timestamp = ColumnType<Date, Date, Date>
type NullableTimestamp = ColumnType<Date | null, Date | null | undefined, Date | null>
type JsonColumn<T extends object> = JSONColumnType<T>
type NullableJsonColumn<T extends object> = JSONColumnType<T | null, string | null | undefined, string | null>

export interface WatchEventTable {
  seq: Generated<number>
  at: Timestamp
  cluster: string
  /** As in manifests, without version; '' for Kubernetes' core. `?`: journaled before groups were. */
  api_group: string
  kind: string
  uid: string
  namespace: string
  name: string
  resource_version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  source: 'watch' | 'relist' | 'write'
  /** Workflow ID of the run that wrote it; null when somebody else did. */
  writer: string | null
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
  /** A list lacked the object; nobody saw its deletion. */
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
  /** Of PostgreSQL's log, on which it was listed (listed-kinds.ts). Null: of a former version. */
  timeline: string | null
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
  /** What came while the row was leased; it takes the place of the rest when the taken version is acknowledged. */
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
  /** In level mode: only objects that have, or had, all of these. */
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
  /** Null while open; else Succeeded, Failed, DeleteFailed, Deleted, Superseded, lost; Finished: its object had the next job when its end was seen. */
  outcome: string | null
  attempt: number
  last_error: NullableJsonColumn<Json>
  passes: number
  last_pass_at: NullableTimestamp
  started_at: Timestamp
  finished_at: NullableTimestamp
  lookup_after: NullableTimestamp
  lookups: number
  /** The lanes that the run serves of what it may host; null: all. */
  serves: string[] | null
  /** How often its run was ended and started anew, because code had changed. */
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
  /** Null while the job goes on. */
  outcome: string | null
  last_error: NullableJsonColumn<Json>
  started_at: Timestamp
  finished_at: NullableTimestamp
}

/** The jobs of objects, in runs of their own and hosted; read only. */
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

/** A pass that is under way, of a controller that bounds how many may be. */
export interface PassTurnTable {
  cluster: string
  controller: string
  uid: string
  workflow_id: string
  since: Timestamp
}

/** A process that is alive, or was when it last said so. */
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

/** Retries of a controller in a namespace. */
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

// A process that is stopped or cut off in the middle of a transaction holds its rows, and whoever takes over its work waits for them. As long as
// a workflow task and a claimed wake may take.
const IDLE_TRANSACTION_MS = 10_000

export interface DatabaseOptions extends ConnectionLimits {
  /**
   * True: a commit does not wait for the disk. For what is made again when a crash of PostgreSQL takes the last moments away: claims and
   * acknowledgements of wakes, rows of runs and of writes that are about to be sent. A commit that does wait takes all before it along.
   */
  readonly asyncCommit?: boolean
  /** True: the server takes no write on these connections, however its address is written. */
  readonly readOnly?: boolean
  /** After which PostgreSQL ends a transaction in which nothing is asked, in milliseconds (10,000). */
  readonly idleTransactionMs?: number
}

/** Of a new connection, before anything is asked on it; one on which it fails is not used. */
function refuseWrites(client: pg.PoolClient, done: (error?: Error) => void): void {
  client.query('set session characteristics as transaction read only').then(() => done(), done)
}

/** Opens a pool of connections to the journal; the caller ends it with `destroy()`. */
export function openDatabase(
  url: string,
  maxConnections = 10,
  { asyncCommit = false, readOnly = false, idleTransactionMs = IDLE_TRANSACTION_MS, ...limits }: DatabaseOptions = {},
): Kysely<Database> {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8_OID, Number)
  // Projections may hold integers that a double does not.
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
  // A connection that dies while idle is replaced by the pool; the next query reports what is really wrong.
  pool.on('error', () => undefined)
  // One that dies in the middle of a transaction is told to its query as well; unheard, the event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }), plugins: [new CleanTextPlugin()] })
}

// Starts a Temporal server on PostgreSQL, as in production, for measurements that the development server cannot give.
//
// It is fetched only with `pawl dev --temporal-store postgres` and has no UI. Server and schema tool are from one
// release; the tool contains the schema.
//
//   S1. Every step is repeatable: existing databases, schema, namespace and search attributes stay unchanged.
//   S2. The server is ready when frontend, history and visibility answer for the namespace with Pawl's search
//       attributes.

import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { Connection, isGrpcServiceError } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'

import { childEnvironment, SEARCH_ATTRIBUTES } from '../server/config.ts'
import { addAttributes } from '../migrate.ts'
import { PartDiedError, startPart, type Part } from './part.ts'
import { createDatabase } from './postgres.ts'
import {
  dynamicConfig,
  PASSWORD_VARIABLE,
  serverConfig,
  SQL_PLUGIN,
  TEMPORAL_DATABASES,
  type SqlStore,
  type TemporalPorts,
} from './temporal-config.ts'

const run = promisify(execFile)

const NAMESPACE = 'default'
/** The retention of the development server. */
const RETENTION = '1 day'
const NAMESPACE_LIMIT_MS = 60_000
const POLL_MS = 100
/** gRPC codes as numbers; their enumeration is in another package. */
const [NOT_FOUND, ALREADY_EXISTS] = [5, 6]

export interface TemporalPostgresOptions {
  readonly binaries: { readonly 'temporal-server': string; readonly 'temporal-sql-tool': string }
  readonly dir: string
  readonly logDir: string
  readonly ports: TemporalPorts
  /** A database of the PostgreSQL server that gets two more databases; the user may create databases. */
  readonly databaseUrl: string
}

/** Starts the server; resolves when its namespace `default` serves (S2). */
export async function startTemporalOnPostgres(
  options: TemporalPostgresOptions,
  onPart?: (part: Part) => void,
): Promise<Part> {
  const { binaries, dir, logDir, ports, databaseUrl } = options
  const { store, password } = readUrl(databaseUrl)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const { database, schema } of TEMPORAL_DATABASES) {
    await createDatabase(databaseUrl, database)
    await updateSchema(binaries['temporal-sql-tool'], { store, password, database, schema })
  }

  const settingsPath = join(dir, 'settings.yaml')
  await writeFile(settingsPath, dynamicConfig(), { mode: 0o600 })
  await writeFile(join(dir, 'server.yaml'), serverConfig(store, ports, settingsPath), { mode: 0o600 })
  const address = `127.0.0.1:${ports.temporal}`
  const spec = {
    name: 'temporal',
    command: binaries['temporal-server'],
    args: ['--root', dir, '--config', '.', '--env', 'server', '--allow-no-auth', 'start'],
    env: { [PASSWORD_VARIABLE]: password },
    logFile: join(logDir, 'temporal.log'),
    address,
    isReady: async () => {
      const connection = await Connection.connect({ address, connectTimeout: '1s' })
      await connection.close()
      return true
    },
  }
  const part = await startPart(spec, onPart)
  const death = part.ended.then(async (how) => Promise.reject(await PartDiedError.of(spec, how)))
  await Promise.race([provideNamespace(address), death])
  // The caller watches the part and reports a later end.
  death.catch(() => undefined)
  return part
}

function readUrl(databaseUrl: string): { store: SqlStore; password: string } {
  const { hostname, port, username, password } = new URL(databaseUrl)
  const store = { host: hostname, port: Number(port === '' ? 5432 : port), user: decodeURIComponent(username) }
  return { store, password: decodeURIComponent(password) }
}

interface SchemaTarget {
  readonly store: SqlStore
  readonly password: string
  readonly database: string
  readonly schema: string
}

async function updateSchema(tool: string, { store, password, database, schema }: SchemaTarget): Promise<void> {
  const { host, port, user } = store
  const place = ['--endpoint', host, '--port', String(port), '--user', user, '--database', database]
  const call = (...command: readonly string[]) =>
    run(tool, [...place, '--plugin', SQL_PLUGIN, ...command], { env: childEnvironment({ SQL_PASSWORD: password }) })
  // Version 0.0 is an empty database; a newer schema stays unchanged.
  await call('setup-schema', '--version', '0.0')
  await call('update-schema', '--schema-name', schema)
}

async function provideNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address })
  try {
    const wanted = { namespace: NAMESPACE, workflowExecutionRetentionPeriod: msToTs(RETENTION) }
    await connection.workflowService.registerNamespace(wanted).catch(unlessCode(ALREADY_EXISTS))
    await untilNoError('add search attributes', () => addAttributes(connection, NAMESPACE))
    await untilNoError('serve', () => callAll(connection))
  } finally {
    await connection.close()
  }
}

/** S2: the services load a new namespace and its attributes when they refresh their caches, within 2 s. */
async function callAll({ workflowService }: Connection): Promise<void> {
  const query = Object.keys(SEARCH_ATTRIBUTES)
    .map((name) => `${name} = 'none'`)
    .join(' and ')
  await workflowService.countWorkflowExecutions({ namespace: NAMESPACE, query })
  await workflowService
    .describeWorkflowExecution({ namespace: NAMESPACE, execution: { workflowId: 'none' } })
    .catch(unlessCode(NOT_FOUND))
}

function unlessCode(code: number): (error: unknown) => void {
  return (error) => {
    const found: number | undefined = isGrpcServiceError(error) ? error.code : undefined
    if (found !== code) throw error
  }
}

async function untilNoError(what: string, act: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + NAMESPACE_LIMIT_MS
  for (;;) {
    const error: unknown = await act().then(
      () => undefined,
      (failure: unknown) => failure ?? 'unknown',
    )
    if (error === undefined) return
    if (Date.now() > deadline)
      throw new Error(`temporal namespace ${NAMESPACE} does not ${what} after ${NAMESPACE_LIMIT_MS / 1000} s`, {
        cause: error,
      })
    await sleep(POLL_MS)
  }
}

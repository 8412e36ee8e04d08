// Opens the database of a cluster from the user's machine, with FoundationDB's tools of this machine.
//
//   D1. The tools are those of --fdb-bin, $PAWL_FDB_BIN or PATH. If all coordinators are on this machine, as in `pawl dev`, the simulator replaces missing
//       tools.
//   D2. Addresses of Pods often cannot be reached from outside of the Kubernetes cluster. The error says so, instead of reporting an unavailable database.

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { parseConnectionString } from '../../../workflows/foundationdb/database/connection-string.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import type { CommandStart } from '../../command.ts'
import type { Database } from '../database/database.ts'
import { CommandFailure } from '../database/fdbcli-output.ts'
import { fdbcliDatabases } from '../database/fdbcli-database.ts'
import type { DatabaseStatus } from '../database/status.ts'
import { findTools } from '../database/tools.ts'
import { writeExecutables } from '../simulator/bin.ts'
import { titleOf } from './clusters.ts'

const MOST_ADDRESSES = 5

export interface OpenDatabase {
  readonly database: Database
  /** @throws an Error if the database cannot be reached (D2) or is unavailable. */
  readonly readStatus: () => Promise<DatabaseStatus>
}

/** Calls `use` with the database. @throws an Error if the cluster has no database yet, and the errors of the tools. */
export async function withDatabase<Result>(
  start: Pick<CommandStart, 'env' | 'end' | 'given'>,
  cluster: FoundationDBCluster,
  use: (open: OpenDatabase) => Promise<Result>,
): Promise<Result> {
  const { env, end, given } = start
  const connectionString = connectionStringOf(cluster)
  const named = given['fdb-bin'] ?? env['PAWL_FDB_BIN']
  const folder = typeof named === 'string' && named !== '' ? named : undefined
  const simulator =
    folder === undefined && isOnThisMachine(connectionString)
      ? mkdtempSync(join(tmpdir(), 'pawl-fdb-simulator-'))
      : undefined
  try {
    const simulate = (version: string) => writeExecutables(join(simulator ?? '', version), process.execPath, version)
    const tools = findTools(folder, env, simulator === undefined ? undefined : simulate)
    const provider = fdbcliDatabases({ tools, environment: env })
    const database = provider.open({ connectionString, version: versionOf(cluster) }, end)
    return await use({ database, readStatus: () => readStatus(database, cluster) })
  } finally {
    if (simulator !== undefined) await rm(simulator, { recursive: true, force: true })
  }
}

/** @throws an Error if the database does not exist yet. */
export function connectionStringOf(cluster: FoundationDBCluster): string {
  const { connectionString = '' } = cluster.status ?? {}
  if (connectionString !== '') return connectionString
  const { namespace, name } = cluster.metadata
  throw new Error(
    `${titleOf(cluster)}: status.connectionString is missing: its database does not exist yet; see pawl why fdb/${name} -n ${namespace}`,
  )
}

function versionOf({ spec, status }: FoundationDBCluster): string {
  const { runningVersion = '' } = status ?? {}
  return runningVersion === '' ? spec.version : runningVersion
}

/** D1 */
function isOnThisMachine(connectionString: string): boolean {
  return parseConnectionString(connectionString).coordinators.every((address) => address.startsWith('127.'))
}

async function readStatus(database: Database, cluster: FoundationDBCluster): Promise<DatabaseStatus> {
  try {
    const status = await database.status()
    if (status.isAvailable) return status
    throw new Error(status.coordinators.some((one) => one.isReachable) ? unavailable(cluster) : unreachable(cluster))
  } catch (error) {
    if (error instanceof CommandFailure && error.kind === 'timeout')
      throw new Error(unreachable(cluster), { cause: error })
    throw error
  }
}

function unavailable(cluster: FoundationDBCluster): string {
  const { namespace, name } = cluster.metadata
  return `${titleOf(cluster)}: the database is unavailable; see pawl fdb analyze ${name} -n ${namespace}`
}

/** D2 */
function unreachable(cluster: FoundationDBCluster): string {
  const { coordinators } = parseConnectionString(connectionStringOf(cluster))
  const { namespace, name } = cluster.metadata
  const advice =
    cluster.status?.health?.available === true
      ? 'the controller reaches the database; run this command where addresses of Pods can be reached, for example in a Pod'
      : `the controller reports an unavailable database, too; see pawl fdb analyze ${name} -n ${namespace}`
  return `${titleOf(cluster)}: no coordinator (${joinNames(coordinators, MOST_ADDRESSES)}) answers to this machine; ${advice}`
}

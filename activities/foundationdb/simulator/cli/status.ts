// The document of `status json`: the client's part, and the cluster controller's. Source: fdb-recordings 01, 03, 06, 09, 13, 25.

import { sleep } from '../core/clock.ts'
import {
  clusterFileText,
  type ConnectionString,
  formatConnectionString,
  parseConnectionString,
} from '../core/connection-string.ts'
import type { Context } from './context.ts'
import { ConnectionLost } from './gateway.ts'

export type Json = Record<string, unknown>

export interface StatusDocument {
  readonly client: Json
  readonly cluster: Json
}

/** How long the client waits for coordinators and for the cluster controller. */
const WAIT_SECONDS = 2

const message = (name: string, description: string): Json => ({ description, name })

export async function statusDocument(context: Context): Promise<StatusDocument> {
  const { client, host } = context
  const session = await Promise.race([client.session(), sleep(host.clock, 0).then(() => undefined)])
  if (session !== undefined) updateClusterFile(context, session.connection)
  const { connection } = context.file
  // A client whose file cannot be written uses the newer string all the same. Source: fdb-recordings 25/005.
  const asked = (session?.connection.id === connection.id ? connection : (session?.connection ?? connection))
    .coordinators
  const reachable = await Promise.all(asked.map(async (address) => await client.isReachable(address)))
  const coordinators = {
    coordinators: asked.map((address, index) =>
      reachable[index] === true
        ? { address, protocol: '0fdb00b071010000', reachable: true }
        : { address, reachable: false },
    ),
    quorum_reachable: reachable.filter(Boolean).length > asked.length / 2,
  }
  if (reachable.includes(false)) await sleep(host.clock, WAIT_SECONDS)
  const answer = coordinators.quorum_reachable
    ? await clusterPart(context)
    : { message: message('quorum_not_reachable', 'Unable to reach a quorum of coordinators.') }
  return joinParts(context, coordinators, answer)
}

type ClusterPart = { readonly cluster: Json } | { readonly message: Json }

async function clusterPart(context: Context): Promise<ClusterPart> {
  const { client, host } = context
  const session = await Promise.race([client.session(), sleep(host.clock, WAIT_SECONDS).then(() => undefined)])
  if (session === undefined) {
    const text =
      'Unable to locate a cluster controller within 2 seconds.  Check that there are server processes running.'
    return { message: message('no_cluster_controller', text) }
  }
  try {
    return { cluster: await client.request('status', {}) }
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    return { message: message('unreachable_cluster_controller', 'Unable to communicate with the cluster controller.') }
  }
}

/** Writes a newer connection string to the cluster file. Keeps the old one if the file cannot be written. */
export function updateClusterFile(context: Context, connection: ConnectionString): void {
  const { file, host } = context
  if (formatConnectionString(connection) === formatConnectionString(file.connection)) return
  // A file with fewer coordinators of the same database stays. Source: fdb-recordings 09/030.
  if (connection.id === file.connection.id) return
  try {
    host.writeFile(file.path, clusterFileText(connection))
    context.file = { path: file.path, connection }
  } catch {
    // Status reports the file as out of date.
  }
}

function joinParts({ file, host }: Context, coordinators: Json, answer: ClusterPart): StatusDocument {
  const cluster = 'cluster' in answer ? answer.cluster : { layers: { _valid: false } }
  const current = parseConnectionString(String(cluster['connection_string']))
  const isStale = current !== undefined && current.id !== file.connection.id
  const stale = isStale ? [staleFile(file.connection, cluster['connection_string'])] : []
  const messages = [...('message' in answer ? [answer.message] : []), ...stale]
  const state = (cluster['data'] as Json | undefined)?.['state'] as Json | undefined
  const problems = (cluster['messages'] ?? []) as Json[]
  const isIncomplete = problems.some(({ name }) => name === 'status_incomplete')
  const available = cluster['database_available'] === true
  return {
    client: {
      cluster_file: { path: file.path, up_to_date: !isStale },
      coordinators,
      database_status: { available, healthy: available && !isIncomplete && state?.['healthy'] !== false },
      messages,
      timestamp: Math.floor(host.wallSeconds()),
    },
    cluster,
  }
}

function staleFile(connection: Context['file']['connection'], current: unknown): Json {
  return message(
    'incorrect_cluster_file_contents',
    `Cluster file contents do not match current cluster connection string.\nThe file contains the connection string: ${formatConnectionString(connection)}\nThe current connection string is: ${String(current)}\n${VERIFY_TEXT}`,
  )
}

const VERIFY_TEXT =
  'Verify the cluster file and its parent directory are writable and that the cluster file has not been overwritten externally. To change coordinators without manual intervention, the cluster file and its containing folder must be writable by all servers and clients. If a majority of the coordinators referenced by the old connection string are lost, the database will stop working until the correct cluster file is distributed to all processes.'

/** JSON in the layout of fdbcli: four blanks, and a blank before each colon. */
export function formatDocument(document: StatusDocument): string {
  return JSON.stringify(document, undefined, 4).replaceAll(/^(\s*"(?:[^"\\]|\\.)*"): /gm, '$1 : ')
}

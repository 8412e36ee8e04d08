// The document of `status json`: the client's part, and the cluster controller's. Source: fdb-recordings 01, 03, 06, 09, 13, 25.

import { sleep } from '../core/clock.ts'
import { formatConnectionString } from '../core/connection-string.ts'
import type { Context } from './context.ts'
import { ConnectionLost, type Session } from './gateway.ts'

export type Json = Record<string, unknown>

export interface StatusDocument {
  readonly client: Json
  readonly cluster: Json
}

/** How long the client waits for coordinators and for the cluster controller. */
const WAIT_SECONDS = 2

const message = (name: string, description: string): Json => ({ description, name })

export async function statusDocument(context: Context): Promise<StatusDocument> {
  const { client, file, host } = context
  const session = await Promise.race([client.session(), sleep(host.clock, 0).then(() => undefined)])
  const connection = writeClusterFile(context, session) ?? session?.connection ?? file.connection
  const asked = connection === file.connection ? file.connection.coordinators : connection.coordinators
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
  return joinParts(context, coordinators, connection === file.connection || session === undefined, answer)
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

/** Writes a newer connection string to the cluster file. @returns the client's string if it cannot be written. */
function writeClusterFile({ file, host }: Context, session: Session | undefined) {
  if (session === undefined || formatConnectionString(session.connection) === formatConnectionString(file.connection)) {
    return file.connection
  }
  try {
    host.writeFile(file.path, CLUSTER_FILE_HEADER + formatConnectionString(session.connection) + '\n')
    return session.connection
  } catch {
    return undefined
  }
}

const CLUSTER_FILE_HEADER = '# DO NOT EDIT!\n# This file is auto-generated, it is not to be edited by hand\n'

function joinParts(
  { file, host }: Context,
  coordinators: Json,
  upToDate: boolean,
  answer: ClusterPart,
): StatusDocument {
  const cluster = 'cluster' in answer ? answer.cluster : { layers: { _valid: false } }
  const stale = upToDate || !('cluster' in answer) ? [] : [staleFile(file.connection, cluster['connection_string'])]
  const messages = [...('message' in answer ? [answer.message] : []), ...stale]
  const state = (cluster['data'] as Json | undefined)?.['state'] as Json | undefined
  const available = cluster['database_available'] === true
  return {
    client: {
      cluster_file: { path: file.path, up_to_date: stale.length === 0 },
      coordinators,
      database_status: { available, healthy: available && state?.['healthy'] !== false },
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

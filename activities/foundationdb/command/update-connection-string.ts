// `pawl fdb connection-string update`: replaces the connection string in the status of a cluster, for a database whose coordinators were changed by hand while the
// controller could not reach it.

import { parseConnectionString } from '../../../workflows/foundationdb/database/connection-string.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { changeCluster, chosenCluster, CLUSTER_OPTION, titleOf } from './clusters.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const connectionString = checkedIn(start.words[0] ?? '')
  const cluster = await chosenCluster(start, start.given[CLUSTER_OPTION])
  const title = titleOf(cluster)
  const before = cluster.status?.connectionString ?? null
  const data = (after: string | null) => ({ before, connectionString: after })
  if (before === connectionString)
    return { lines: [`${title} has this connection string already`], data: data(before), exitCode: 0 }
  const current = before === null ? 'none' : `"${before}"`
  if (!(await start.confirm(`Replace the connection string of ${title} (now: ${current})?`)))
    return { lines: ['nothing was changed'], data: data(before), exitCode: 1 }
  await changeCluster(start.kube, cluster, () => ({ status: { connectionString } }), 'status')
  const lines = [
    `${title} has the new connection string`,
    `  before: ${before ?? 'none'}`,
    '  its controller writes the connection string to the ConfigMap and to the Pods',
  ]
  return { lines, data: data(connectionString), exitCode: 0 }
}

function checkedIn(text: string): string {
  try {
    parseConnectionString(text)
    return text
  } catch (error) {
    throw new CommandUsageError((error as Error).message, { cause: error })
  }
}

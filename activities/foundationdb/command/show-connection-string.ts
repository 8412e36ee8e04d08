// `pawl fdb connection-string show`: prints the connection string of a cluster's database.

import type { CommandDone, CommandStart } from '../../command.ts'
import { chosenCluster } from './clusters.ts'
import { connectionStringOf } from './database.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const cluster = await chosenCluster(start, start.words[0], 'connection-string show: the cluster')
  const connectionString = connectionStringOf(cluster)
  return { lines: [connectionString], data: { connectionString }, exitCode: 0 }
}

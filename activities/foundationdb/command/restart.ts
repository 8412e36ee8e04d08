// `pawl fdb restart`: ends processes of a cluster through its database; their monitors start them again. Kubernetes' `exec` is not needed.

import type { FoundationDBCluster, ProcessGroupStatus } from '../../../workflows/foundationdb/cluster/kind.ts'
import { parseAddress, withoutFlags } from '../../../workflows/foundationdb/database/process-address.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import type { ProcessStatus } from '../database/status.ts'
import { chosenCluster, CLUSTER_OPTION, titleOf } from './clusters.ts'
import { withDatabase } from './database.ts'
import { processGroupsNamed, processGroupsOf } from './process-groups.ts'
import { countOf, namesOf } from './removal.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { words, given } = start
  const isAll = given['all-processes'] === true
  if (isAll === words.length > 0)
    throw new CommandUsageError(
      `restart: found ${words.length} process groups${isAll ? ' and --all-processes' : ''}; expected process groups or --all-processes`,
    )
  const cluster = await chosenCluster(start, given[CLUSTER_OPTION])
  const groups = isAll ? processGroupsOf(cluster) : processGroupsNamed(cluster, words)
  return await withDatabase(start, cluster, async ({ database, readStatus }) => {
    const { processes } = await readStatus()
    const { addresses, missing } = addressesOf(processes, groups)
    if (missing.length > 0 && (!isAll || addresses.length === 0)) throw new Error(missingText(cluster, missing))
    const title = `${countOf(groups.length - missing.length)} of ${titleOf(cluster)}`
    if (!(await start.confirm(`Restart ${processCount(addresses.length)} in ${title}?`)))
      return { lines: ['nothing was changed'], data: { restarted: [] }, exitCode: 1 }
    await database.kill(addresses, { isUpgrade: false })
    const without = missing.length === 0 ? [] : [`not restarted, because no process reports: ${namesOf(missing)}`]
    const next = addresses.length === 1 ? 'its monitor starts it again' : 'their monitors start them again'
    const lines = [`${processCount(addresses.length)} in ${title} ended; ${next}`, ...without]
    return { lines, data: { restarted: addresses }, exitCode: 0 }
  })
}

/** The addresses of the processes in the process groups, and the process groups without a process. */
function addressesOf(processes: readonly ProcessStatus[], groups: readonly ProcessGroupStatus[]) {
  const idOf = ({ locality }: ProcessStatus) => locality['instance_id'] ?? ''
  const ids = new Set(groups.map(({ processGroupID }) => processGroupID))
  const own = processes.filter((one) => ids.has(idOf(one)))
  const addresses = own.flatMap(({ address }) => {
    const parsed = parseAddress(address)
    return parsed === undefined ? [] : [withoutFlags(parsed)]
  })
  const reported = new Set(own.map(idOf))
  return { addresses, missing: groups.filter(({ processGroupID }) => !reported.has(processGroupID)) }
}

function missingText(cluster: FoundationDBCluster, missing: readonly ProcessGroupStatus[]): string {
  return `${titleOf(cluster)}: ${namesOf(missing)}: no process reports to the database, so it cannot be restarted; delete the Pod instead`
}

function processCount(count: number): string {
  return count === 1 ? '1 process' : `${count} processes`
}

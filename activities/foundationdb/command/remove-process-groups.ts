// `pawl fdb remove process-groups`: removes named or failed process groups; the controller creates new ones in their place.

import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { chosenCluster, CLUSTER_OPTION, titleOf } from './clusters.ts'
import { failedProcessGroups, processGroupsNamed } from './process-groups.ts'
import { removeAfterQuestion } from './removal.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { words, given } = start
  const isAllFailed = given['remove-all-failed'] === true
  if (isAllFailed === words.length > 0)
    throw new CommandUsageError(
      `remove process-groups: found ${words.length} process groups${isAllFailed ? ' and --remove-all-failed' : ''}; expected process groups or --remove-all-failed`,
    )
  const hasExclusion = hasExclusionIn(given)
  const cluster = await chosenCluster(start, given[CLUSTER_OPTION])
  const groups = isAllFailed ? failedProcessGroups(cluster, Date.now() / 1000) : processGroupsNamed(cluster, words)
  if (groups.length === 0) {
    const lines = [`${titleOf(cluster)} has no process group that has failed for more than 5 minutes`]
    return { lines, data: { removals: [] }, exitCode: 0 }
  }
  return await removeAfterQuestion(start, [{ cluster, groups, hasExclusion }])
}

/** `--exclusion false` is the option of kubectl-fdb. */
function hasExclusionIn(given: CommandStart['given']): boolean {
  const exclusion = given['exclusion'] ?? 'true'
  if (exclusion !== 'true' && exclusion !== 'false')
    throw new CommandUsageError(`--exclusion: found "${String(exclusion)}"; expected true or false`)
  return exclusion === 'true' && given['without-exclusion'] !== true
}

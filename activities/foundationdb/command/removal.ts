// Requests the removal of process groups: adds them to the lists of the cluster's spec. The controller replaces them.
//
//   M1. The command adds to the field that the spec uses: the API server rejects a field together with its alias.
//   M2. A process group that is listed or marked already is not added again.

import type { FoundationDBCluster, ProcessGroupStatus } from '../../../workflows/foundationdb/cluster/kind.ts'
import { isExcluded, isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import type { CommandDone, CommandStart } from '../../command.ts'
import { changeCluster, titleOf } from './clusters.ts'

const MOST_NAMES = 20

/** With exclusion, the data moves away first; without, the processes end at once. */
export interface Removal {
  readonly cluster: FoundationDBCluster
  readonly groups: readonly ProcessGroupStatus[]
  readonly hasExclusion: boolean
}

const FIELDS = {
  withExclusion: ['processGroupsToRemove', 'instancesToRemove'],
  withoutExclusion: ['processGroupsToRemoveWithoutExclusion', 'instancesToRemoveWithoutExclusion'],
} as const

/** @returns the IDs that were added. @throws errors of the API server. */
export async function requestRemoval(
  { kube }: Pick<CommandStart, 'kube'>,
  { cluster, groups, hasExclusion }: Removal,
): Promise<readonly string[]> {
  const [name, alias] = hasExclusion ? FIELDS.withExclusion : FIELDS.withoutExclusion
  const ids = groups.map(({ processGroupID }) => processGroupID)
  let added: readonly string[] = []
  await changeCluster(kube, cluster, ({ spec }) => {
    // M1
    const field = spec[alias] === undefined ? name : alias
    const listed = spec[field] ?? []
    added = ids.filter((id) => !listed.includes(id))
    return added.length === 0 ? undefined : { spec: { [field]: [...listed, ...added] } }
  })
  return added
}

/** Asks, requests the removals, and reports them. */
export async function removeAfterQuestion(start: CommandStart, removals: readonly Removal[]): Promise<CommandDone> {
  const wanted = removals.map((removal) => ({ ...removal, groups: removal.groups.filter(isWanted(removal)) }))
  const open = wanted.filter(({ groups }) => groups.length > 0)
  const known = removals.flatMap(({ cluster, groups }, index) => {
    const left = groups.filter((group) => wanted[index]?.groups.includes(group) !== true)
    return left.length === 0 ? [] : [`${titleOf(cluster)}: ${namesOf(left)}: the removal is in progress already`]
  })
  const data = (removed: readonly object[]) => ({ removals: removed })
  if (open.length === 0) return { lines: known, data: data([]), exitCode: 0 }
  if (!(await start.confirm(open.map(questionOf).join(' '))))
    return { lines: ['nothing was changed', ...known], data: data([]), exitCode: 1 }
  const lines: string[] = []
  const removed: object[] = []
  for (const removal of open) {
    const { namespace, name } = removal.cluster.metadata
    const added = await requestRemoval(start, removal)
    lines.push(resultLine(removal, added), `  watch: pawl why fdb/${name} -n ${namespace}`)
    removed.push({ namespace, cluster: name, processGroups: added, exclusion: removal.hasExclusion })
  }
  return { lines: [...lines, ...known], data: data(removed), exitCode: 0 }
}

/** M2. A marked process group can still be removed without its exclusion. */
function isWanted({ hasExclusion }: Removal): (group: ProcessGroupStatus) => boolean {
  return (group) => !isMarked(group) || (!hasExclusion && !isExcluded(group))
}

function questionOf({ cluster, groups, hasExclusion }: Removal): string {
  const how = hasExclusion ? '' : ' without moving data away first'
  return `Remove ${countOf(groups.length)} of ${titleOf(cluster)}${how} (${namesOf(groups)})?`
}

function resultLine({ cluster, hasExclusion }: Removal, added: readonly string[]): string {
  if (added.length === 0) return `${titleOf(cluster)}: all process groups are in the list of its spec already`
  const whose = added.length === 1 ? 'its' : 'their'
  const how = hasExclusion ? `after ${whose} data has moved away` : `without moving ${whose} data away`
  return `${titleOf(cluster)} will remove ${countOf(added.length)} ${how}: ${joinNames(added, MOST_NAMES)}`
}

export function namesOf(groups: readonly ProcessGroupStatus[]): string {
  return joinNames(
    groups.map(({ processGroupID }) => processGroupID),
    MOST_NAMES,
  )
}

export function countOf(count: number): string {
  return count === 1 ? '1 process group' : `${count} process groups`
}

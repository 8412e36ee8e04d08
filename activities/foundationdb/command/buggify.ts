// `pawl fdb buggify`: causes failures on purpose, for tests of a cluster. Changes `spec.buggify`; the controller changes the Pods.
//
//   B1. The lists keep the entries of other process groups and containers.
//   B2. `crashLoop` is the deprecated list of the main container: process groups are removed from it, too, but only added to `crashLoopContainers`.

import type { ClusterSpec, FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { MAIN_CONTAINER } from '../../../workflows/foundationdb/contract.ts'
import { canonicalJson, joinNames } from '../../../workflows/kit/index.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { changeCluster, chosenCluster, CLUSTER_OPTION, titleOf } from './clusters.ts'
import { podNameOf, processGroupsNamed, processGroupsOf } from './process-groups.ts'

export type Buggify = NonNullable<ClusterSpec['buggify']>

const MOST_NAMES = 20

/** A change of a list: adds entries, removes entries (`--clear`), or removes all (`--clean`). */
interface ListChange {
  readonly kind: 'add' | 'clear' | 'clean'
  /** IDs of process groups; empty for `clean`. */
  readonly ids: readonly string[]
}

export async function crashLoop(start: CommandStart): Promise<CommandDone> {
  const container = start.given['container-name'] ?? MAIN_CONTAINER
  const name = String(container)
  return await changeList(start, {
    command: 'buggify crash-loop',
    title: `the crash loops of container "${name}"`,
    change: (buggify, change) => changedCrashLoops(buggify, name, change),
  })
}

export async function noSchedule(start: CommandStart): Promise<CommandDone> {
  return await changeList(start, {
    command: 'buggify no-schedule',
    title: 'the Pods that no Node accepts',
    change: ({ noSchedule: list = [] }, change) => ({ noSchedule: changedList(list, change) }),
  })
}

export async function emptyMonitorConf(start: CommandStart): Promise<CommandDone> {
  const text = start.given['set-value'] ?? 'true'
  if (text !== 'true' && text !== 'false')
    throw new CommandUsageError(`--set-value: found "${String(text)}"; expected true or false`)
  const isEmpty = text === 'true'
  const cluster = await chosenCluster(start, start.given[CLUSTER_OPTION])
  const what = isEmpty ? 'Stop all processes' : 'Start the processes'
  return await apply(start, cluster, {
    question: `${what} of ${titleOf(cluster)}?`,
    done: `${titleOf(cluster)}: spec.buggify.emptyMonitorConf is ${text}`,
    change: () => ({ emptyMonitorConf: isEmpty }),
  })
}

interface List {
  readonly command: string
  readonly title: string
  readonly change: (buggify: Buggify, change: ListChange) => Buggify
}

async function changeList(start: CommandStart, { command, title, change }: List): Promise<CommandDone> {
  const kind = kindIn(start, command)
  const cluster = await chosenCluster(start, start.given[CLUSTER_OPTION])
  const ids = kind === 'add' ? idsNamed(cluster, start.words) : start.words.map((word) => idOf(cluster, word))
  const names = kind === 'clean' ? 'all process groups' : joinNames(ids, MOST_NAMES)
  const [verb, preposition, ended] = kind === 'add' ? ['Add', 'to', 'added'] : ['Remove', 'from', 'removed']
  return await apply(start, cluster, {
    question: `${verb} ${names} ${preposition} ${title} of ${titleOf(cluster)}?`,
    done: `${titleOf(cluster)}: ${ended} ${names} ${preposition} ${title}`,
    change: (buggify) => change(buggify, { kind, ids }),
  })
}

function idsNamed(cluster: FoundationDBCluster, words: readonly string[]): readonly string[] {
  return processGroupsNamed(cluster, words).map(({ processGroupID }) => processGroupID)
}

/** A list may contain process groups that do not exist any more, and `*`. */
function idOf(cluster: FoundationDBCluster, word: string): string {
  const found = processGroupsOf(cluster).find(({ processGroupID }) => podNameOf(cluster, processGroupID) === word)
  return found?.processGroupID ?? word
}

function kindIn({ words, given }: CommandStart, command: string): ListChange['kind'] {
  const isClean = given['clean'] === true
  if (isClean === words.length > 0)
    throw new CommandUsageError(
      `${command}: found ${words.length} process groups${isClean ? ' and --clean' : ''}; expected process groups or --clean`,
    )
  if (isClean) return 'clean'
  return given['clear'] === true ? 'clear' : 'add'
}

interface Change {
  readonly question: string
  readonly done: string
  readonly change: (buggify: Buggify) => Buggify
}

async function apply(
  start: CommandStart,
  cluster: FoundationDBCluster,
  { question, done, change }: Change,
): Promise<CommandDone> {
  const { buggify: before = {} } = cluster.spec
  if (canonicalJson({ ...before, ...change(before) }) === canonicalJson(before))
    return { lines: [`${titleOf(cluster)}: nothing to change`], data: { buggify: before }, exitCode: 0 }
  if (!(await start.confirm(question)))
    return { lines: ['nothing was changed'], data: { buggify: before }, exitCode: 1 }
  let buggify = before
  await changeCluster(start.kube, cluster, ({ spec }) => {
    const changed = change(spec.buggify ?? {})
    buggify = { ...spec.buggify, ...changed }
    return { spec: { buggify: changed } }
  })
  const { namespace, name } = cluster.metadata
  return { lines: [done, `  watch: pawl why fdb/${name} -n ${namespace}`], data: { buggify }, exitCode: 0 }
}

function changedList(list: readonly string[], { kind, ids }: ListChange): readonly string[] {
  if (kind === 'clean') return []
  return kind === 'add' ? [...new Set([...list, ...ids])] : list.filter((id) => !ids.includes(id))
}

/** B1, B2 */
function changedCrashLoops(buggify: Buggify, container: string, change: ListChange): Buggify {
  const { crashLoopContainers: containers = [], crashLoop: deprecated = [] } = buggify
  const isNew = change.kind === 'add' && !containers.some(({ containerName }) => containerName === container)
  const all = isNew ? [...containers, { containerName: container, targets: [] }] : containers
  const crashLoopContainers = all
    .map((one) => (one.containerName === container ? { ...one, targets: changedList(one.targets ?? [], change) } : one))
    .filter(({ targets = [] }) => targets.length > 0)
  const isDeprecated = container === MAIN_CONTAINER && change.kind !== 'add' && deprecated.length > 0
  return { crashLoopContainers, ...(isDeprecated && { crashLoop: changedList(deprecated, change) }) }
}

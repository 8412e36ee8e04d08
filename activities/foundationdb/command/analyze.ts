// `pawl fdb analyze`: reports the problems of clusters, and requests repairs with --auto-fix. Reads the API server only.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { PROCESS_GROUP_CONDITIONS } from '../../../workflows/foundationdb/contract.ts'
import { isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { fixAfterQuestion } from './auto-fix.ts'
import { chosenCluster, listClusters, titleOf } from './clusters.ts'
import { type AnalyzeOptions, type Finding, findingsOf } from './findings.ts'
import { type ClusterPod, readPods } from './pods.ts'
import { processGroupsOf } from './process-groups.ts'

/** As for other commands when a user has to act. */
const PROBLEMS = 3

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, namespace, given } = start
  const options = optionsOf(start)
  const clusters = await clustersOf(start)
  if (clusters.length === 0)
    return { lines: [`namespace "${namespace}" has no FoundationDBCluster`], data: { clusters: [] }, exitCode: 0 }
  const reports: Report[] = []
  for (const cluster of clusters) {
    const pods = await readPods(kube, cluster)
    reports.push({ cluster, pods, findings: findingsOf(cluster, pods, options) })
  }
  const fixes: string[] = []
  if (given['auto-fix'] === true)
    for (const { cluster, pods } of reports) fixes.push(...(await fixAfterQuestion(start, cluster, pods)))
  const hasProblems = reports.some(({ findings }) => countOf(findings, 'problem') > 0)
  return {
    lines: [...reports.flatMap(linesOf), ...fixes],
    data: { clusters: reports.map(dataOf), fixes },
    exitCode: hasProblems ? PROBLEMS : 0,
  }
}

interface Report {
  readonly cluster: FoundationDBCluster
  readonly pods: readonly ClusterPod[]
  readonly findings: readonly Finding[]
}

function optionsOf({ given }: CommandStart): AnalyzeOptions {
  const ignored = given['ignore-condition']
  const types = typeof ignored === 'string' ? ignored.split(',') : []
  const unknown = types.find((type) => !PROCESS_GROUP_CONDITIONS.some((known) => known === type))
  if (unknown !== undefined)
    throw new CommandUsageError(
      `--ignore-condition: found "${unknown}"; expected one of ${PROCESS_GROUP_CONDITIONS.join(', ')}`,
    )
  return {
    ignoredConditions: new Set(types),
    ignoresRemovals: given['ignore-removals'] === true,
    nowMs: Date.now(),
  }
}

async function clustersOf(start: CommandStart): Promise<readonly FoundationDBCluster[]> {
  const [name] = start.words
  if (start.given['all-clusters'] !== true) return [await chosenCluster(start, name, 'analyze: the cluster')]
  if (name !== undefined)
    throw new CommandUsageError(`analyze: found "${name}" and --all-clusters; expected one of them`)
  return await listClusters(start.kube, start.namespace)
}

/** The answer, then the problems, then the warnings. */
function linesOf({ cluster, pods, findings }: Report): readonly string[] {
  const problems = countOf(findings, 'problem')
  const groups = processGroupsOf(cluster).filter((group) => !isMarked(group)).length
  const answer =
    problems === 0
      ? `is healthy: available, fully replicated and reconciled, with ${groups} process groups and ${pods.length} Pods`
      : `has ${problems === 1 ? '1 problem' : `${problems} problems`}`
  const inOrder = [...findings].sort(
    (one, other) => (one.severity < other.severity ? -1 : 1) * Number(one.severity !== other.severity),
  )
  return [`${titleOf(cluster)} ${answer}`, ...inOrder.map(({ severity, message }) => `  ${severity}: ${message}`)]
}

function dataOf({ cluster: { metadata }, findings }: Report): object {
  return { namespace: metadata.namespace, name: metadata.name, findings }
}

function countOf(findings: readonly Finding[], severity: Finding['severity']): number {
  return findings.filter((one) => one.severity === severity).length
}

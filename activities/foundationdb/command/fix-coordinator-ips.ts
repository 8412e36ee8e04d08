// `pawl fdb fix-coordinator-ips`: for a database that is unavailable because most Pods with coordinators have got other addresses. Replaces the addresses in
// the connection string of the status. Source: spec/foundationdb.md 5.
//
//   F1. A coordinator keeps its address if it has a DNS name, or if no process group has had the address.
//   F2. Processes read the file of the last connection string, in the volume of their Pod. Only a command in the Pod replaces the file, so the answer
//       contains these commands.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { MAIN_CONTAINER } from '../../../workflows/foundationdb/contract.ts'
import {
  formatConnectionString,
  parseConnectionString,
} from '../../../workflows/foundationdb/database/connection-string.ts'
import { formatAddress, parseAddress } from '../../../workflows/foundationdb/database/process-address.ts'
import { clusterSettings } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import type { CommandDone, CommandStart } from '../../command.ts'
import { changeCluster, chosenCluster, titleOf } from './clusters.ts'
import { connectionStringOf } from './database.ts'
import { type ClusterPod, publicAddressOf, readPods } from './pods.ts'
import { podNameOf, processGroupsOf } from './process-groups.ts'

const CLUSTER_FILE = '/var/fdb/data/fdb.cluster'

export async function run(start: CommandStart): Promise<CommandDone> {
  const cluster = await chosenCluster(start, start.words[0], 'fix-coordinator-ips: the cluster')
  const before = connectionStringOf(cluster)
  const pods = await readPods(start.kube, cluster)
  const coordinators = coordinatorsOf(cluster, before, pods)
  const connectionString = formatConnectionString({
    ...parseConnectionString(before),
    coordinators: coordinators.map(({ address }) => address),
  })
  const title = titleOf(cluster)
  const data = (isChanged: boolean) => ({ before, connectionString, isChanged })
  const lines = coordinators.map(({ line }) => `  ${line}`)
  if (connectionString === before)
    return { lines: [`${title}: no address of a coordinator has changed`, ...lines], data: data(false), exitCode: 0 }
  const commands = commandsFor(cluster, connectionString, pods)
  if (start.given['dry-run'] === true)
    return { lines: [`${title} would get ${connectionString}`, ...lines, ...commands], data: data(false), exitCode: 0 }
  if (!(await start.confirm(`Replace the connection string of ${title} by ${connectionString}?`)))
    return { lines: ['nothing was changed', ...lines], data: data(false), exitCode: 1 }
  const change = (found: FoundationDBCluster) => {
    if (found.status?.connectionString === before) return { status: { connectionString } }
    throw new Error(`${title}: status.connectionString has changed meanwhile; run the command again`)
  }
  await changeCluster(start.kube, cluster, change, 'status')
  return { lines: [`${title} has ${connectionString}`, ...lines, ...commands], data: data(true), exitCode: 0 }
}

interface Coordinator {
  readonly address: string
  readonly line: string
}

function coordinatorsOf(
  cluster: FoundationDBCluster,
  connectionString: string,
  pods: readonly ClusterPod[],
): readonly Coordinator[] {
  const { podIPFamily } = clusterSettings(cluster).routing
  return parseConnectionString(connectionString).coordinators.map((address): Coordinator => {
    const parsed = parseAddress(address)
    const group = processGroupsOf(cluster).find(({ addresses = [] }) => addresses.includes(parsed?.host ?? ''))
    // F1
    if (parsed === undefined || group === undefined)
      return { address, line: `${address} stays: no process group of the status has this address` }
    const { processGroupID: id, addresses = [] } = group
    const pod = pods.find(({ metadata }) => metadata.name === podNameOf(cluster, id))
    const current = (pod && publicAddressOf(pod, podIPFamily)) ?? addresses.at(-1) ?? parsed.host
    const fixed = formatAddress({ ...parsed, host: current })
    return fixed === address
      ? { address, line: `${address} stays: it is the address of ${id}` }
      : { address: fixed, line: `${address} becomes ${fixed}, the address of ${id}` }
  })
}

/** F2. The connection string contains no quotes. */
function commandsFor(
  { metadata: { namespace } }: FoundationDBCluster,
  connectionString: string,
  pods: readonly ClusterPod[],
): readonly string[] {
  const running = pods.filter(({ status }) => status?.phase === 'Running')
  return [
    'then replace the file that the processes read, in every running Pod:',
    ...running.map(
      ({ metadata }) =>
        `  kubectl exec -n ${namespace} ${metadata.name} -c ${MAIN_CONTAINER} -- sh -c 'echo "${connectionString}" >${CLUSTER_FILE} && pkill fdbserver'`,
    ),
  ]
}

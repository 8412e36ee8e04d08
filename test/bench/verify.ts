// What is really in the cluster after an operation, as opposed to what the status of the Installations says.

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { API, type LsObject } from '../support/cluster/cluster.ts'
import { DEPLOYED_PREFIX } from './installations.ts'
import type { Load, Operation } from './load.ts'

/** Compares; returns what is not as it has to be, one sentence each. */
export async function findWrong(load: Load, operation: Operation): Promise<readonly string[]> {
  const { installations, items, deployer } = load.plan
  const isDeleted = operation === 'delete'
  const wantedInstallations = isDeleted ? 0 : installations
  const wantedItems = isDeleted ? 0 : installations * items

  const deployItems = await list(load, 'deployitems')
  const { jobIDs } = load
  const finished = deployItems.filter(
    ({ status }) => status?.phase === 'Succeeded' && jobIDs.has(status.jobIDFinished ?? ''),
  )
  const counts: readonly (readonly [what: string, found: number, expected: number])[] = [
    ['installations', (await list(load, 'installations')).length, wantedInstallations],
    ['executions', (await list(load, 'executions')).length, wantedInstallations],
    ['deploy items', deployItems.length, wantedItems],
    ['deploy items that succeeded with the newest job', finished.length, wantedItems],
    ...(deployer === 'manifest' ? [['deployed ConfigMaps', await countDeployed(load), wantedItems] as const] : []),
  ]
  return counts
    .filter(([, found, expected]) => found !== expected)
    .map(([what, found, expected]) => `${what}: found ${found}, expected ${expected}`)
}

async function countDeployed(load: Load): Promise<number> {
  const maps = await list(load, 'configmaps', 'v1')
  return maps.filter(({ metadata }) => metadata.name.startsWith(DEPLOYED_PREFIX)).length
}

async function list({ kube, namespaces }: Load, plural: string, apiVersion = API): Promise<readonly LsObject[]> {
  const pages = namespaces.map((name) => kube.request<ObjectList>('GET', resourcePath({ apiVersion, plural }, name)))
  return (await Promise.all(pages)).flatMap(({ items }) => items)
}

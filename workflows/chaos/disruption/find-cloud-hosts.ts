// The addresses that a spec's services of clouds stand for, when a chaos pod is about to be told of them. Source: spec/chaos.md 1.5, B24.

import { activitiesOf, problemText } from '../../kit/index.ts'
import { hasCloud } from '../cloud.ts'
import { fieldsOf } from '../json-fields.ts'
import { type DisruptionPass, specOf } from './pass.ts'
import { filterProblems } from './rules/network.ts'
import type { NetworkHost } from './schema/network.ts'

export const clouds = activitiesOf(() => import('../../../activities/chaos/cloud/find-hosts.ts'), {
  findHosts: { timeoutMs: 30_000 },
})

/** Hosts, or why there are none for the moment. */
export async function findCloudHosts(
  pass: DisruptionPass,
): Promise<{ readonly hosts: readonly NetworkHost[] } | { readonly problem: string }> {
  const { network } = specOf(pass)
  const cloud = network?.cloud
  if (cloud === undefined || !hasCloud(cloud)) return { hosts: [] }
  const found = await pass.call(clouds).findHosts({ cloud })
  if ('problem' in found) return found
  const [tooMany] = filterProblems(fieldsOf(network), 'spec.network', found.hosts.length)
  return tooMany === undefined ? found : { problem: problemText(tooMany) }
}

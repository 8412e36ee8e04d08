// What the services of clouds stand for, which passes of workflows/chaos/disruption/ ask. What is wrong is an answer: other kinds of the Disruption go on.

import type { CloudServices } from '../../../workflows/chaos/cloud.ts'
import type { NetworkHost } from '../../../workflows/chaos/disruption/schema/network.ts'
import { type ActivityContext, problemText } from '../../../workflows/kit/index.ts'
import { NoRanges, type PublishedRanges } from './published-ranges.ts'

export interface CloudParts {
  readonly publishedRanges: PublishedRanges
}

/** Hosts, or why there are none. */
export async function findHosts(
  { cloud }: { readonly cloud: CloudServices },
  { parts }: ActivityContext,
): Promise<{ readonly hosts: readonly NetworkHost[] } | { readonly problem: string }> {
  const { publishedRanges } = parts as CloudParts
  try {
    const found = await publishedRanges.hostsOf(cloud)
    return 'hosts' in found ? found : { problem: problemText(found.problem) }
  } catch (error) {
    if (!(error instanceof NoRanges)) throw error
    return { problem: `spec.network.cloud: ${error.message}` }
  }
}

// The activity that resolves cloud services to hosts, for passes of workflows/chaos/disruption/. A problem is part of
// the result, so that other kinds of the Disruption continue.

import type { CloudServices } from '../../../workflows/chaos/cloud.ts'
import type { NetworkHost } from '../../../workflows/chaos/disruption/schema/network.ts'
import { type ActivityContext, problemText } from '../../../workflows/kit/index.ts'
import { RangesUnavailable, type PublishedRanges } from './published-ranges.ts'

export interface CloudParts {
  readonly publishedRanges: PublishedRanges
}

/** The hosts, or the reason why they are unknown. */
export async function findHosts(
  { cloud }: { readonly cloud: CloudServices },
  { parts }: ActivityContext,
): Promise<{ readonly hosts: readonly NetworkHost[] } | { readonly problem: string }> {
  const { publishedRanges } = parts as CloudParts
  try {
    const found = await publishedRanges.hostsOf(cloud)
    return 'hosts' in found ? found : { problem: problemText(found.problem) }
  } catch (error) {
    if (!(error instanceof RangesUnavailable)) throw error
    return { problem: `spec.network.cloud: ${error.message}` }
  }
}

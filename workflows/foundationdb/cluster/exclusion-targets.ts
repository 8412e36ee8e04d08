// The names by which the processes of process groups are excluded and included: localities where the version can, otherwise addresses. Source:
// spec/foundationdb.md 1.4, 4.3.

import { hostOf, localityExclusion, parseAddress } from '../database/process-address.ts'
import { supportsLocalityExclusion } from '../model/version.ts'
import type { ClusterContext } from './context.ts'
import type { ProcessGroupStatus } from './kind.ts'
import { addressesOf } from './process-groups.ts'

/** Whether processes are excluded by locality. */
export function usesLocalities({ settings, status }: Pick<ClusterContext, 'settings' | 'status'>): boolean {
  const { runningVersion = '' } = status
  const version = runningVersion === '' ? settings.version : runningVersion
  return settings.automation.useLocalitiesForExclusion ?? supportsLocalityExclusion(version)
}

export function exclusionTargets(
  context: Pick<ClusterContext, 'settings' | 'status'>,
  groups: readonly ProcessGroupStatus[],
): readonly string[] {
  const byLocality = usesLocalities(context)
  return groups.flatMap((group) => (byLocality ? [localityExclusion(group.processGroupID)] : hostsOf(group)))
}

/** Addresses without ports. */
export function hostsOf(group: ProcessGroupStatus): readonly string[] {
  return addressesOf(group).flatMap((text) => {
    const address = parseAddress(text)
    return address === undefined ? [] : [hostOf(address)]
  })
}

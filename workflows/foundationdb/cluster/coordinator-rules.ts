// The coordinators of a cluster: the rules for them, and the process groups that have one. Pure.

import type { DatabaseStatus } from '../../../activities/foundationdb/database/status.ts'
import { parseConnectionString } from '../database/connection-string.ts'
import type { CoordinatorRules } from '../database/coordinators.ts'
import { hostOf, parseAddress } from '../database/process-address.ts'
import { wantsTls } from '../model/cluster-settings.ts'
import { dnsName } from '../resources/pod-environment.ts'
import { type ClusterContext, connectionStringOf, processGroupsIn } from './context.ts'
import { hostsOf } from './exclusion-targets.ts'
import type { ProcessGroupStatus } from './kind.ts'
import { isMarked } from './process-groups.ts'

export function coordinatorRules(context: ClusterContext): CoordinatorRules {
  const { settings } = context
  const { databaseConfiguration = {}, coordinatorSelection, dataCenter } = settings.spec
  return {
    configuration: databaseConfiguration,
    selection: coordinatorSelection,
    useDNS: settings.routing.useDNSInClusterFile,
    isTls: wantsTls(settings),
    marked: new Set(
      processGroupsIn(context)
        .filter(isMarked)
        .map(({ processGroupID }) => processGroupID),
    ),
    primaryDataCenter: dataCenter,
  }
}

/**
 * Returns a function that tells whether a process group has a coordinator. The connection string counts, too: it is known also while the database is
 * unavailable.
 */
export function coordinatorCheck(
  context: ClusterContext,
  status: DatabaseStatus | undefined,
): (group: ProcessGroupStatus) => boolean {
  const connectionString = connectionStringOf(context)
  const known = connectionString === undefined ? [] : parseConnectionString(connectionString).coordinators
  const addresses = [...known, ...(status?.coordinators ?? []).map(({ address }) => address)]
  const hosts = new Set(
    addresses.flatMap((text) => {
      const address = parseAddress(text)
      return address === undefined ? [] : [hostOf(address)]
    }),
  )
  return (group) => [...hostsOf(group), dnsName(context.settings, group.processGroupID)].some((host) => hosts.has(host))
}

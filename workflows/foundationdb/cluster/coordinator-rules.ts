// The rules for coordinators of a cluster, from its settings and status. Pure.

import type { CoordinatorRules } from '../database/coordinators.ts'
import { wantsTls } from '../model/cluster-settings.ts'
import { type ClusterContext, processGroupsIn } from './context.ts'
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

// The controller of FoundationDBClusters with its plan.

import { addPlans, type LevelController } from '../../kit/index.ts'
import { clusterDeclaration } from './declaration.ts'
import type { FoundationDBCluster } from './kind.ts'
import type { ClusterState } from './pass.ts'
import { clusterPlans } from './plan.ts'

export const clusterController: LevelController<ClusterState, FoundationDBCluster> = addPlans(
  clusterDeclaration,
  clusterPlans,
)

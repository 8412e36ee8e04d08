// The pass over a FoundationDBRestore, and the objects that it observes.

import type { LevelPass, StateQuery } from '../../kit/index.ts'
import { clusterQuery, type ObservedCluster } from '../observed-cluster.ts'
import type { FoundationDBRestore } from './kind.ts'

export interface RestoreState {
  readonly cluster: ObservedCluster | undefined
}

export type RestorePass = LevelPass<RestoreState, FoundationDBRestore>

export const restoreQueries: Readonly<Record<keyof RestoreState, StateQuery>> = {
  cluster: clusterQuery('${target.spec.destinationClusterName}'),
}

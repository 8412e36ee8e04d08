// The pass over a FoundationDBBackup, and the objects that it observes.

import type { JsonObject, LevelPass, StateQuery } from '../../kit/index.ts'
import { clusterQuery, type ObservedCluster } from '../observed-cluster.ts'
import type { FoundationDBBackup } from './kind.ts'

/** The Deployment of the agents. */
export interface ObservedDeployment extends JsonObject {
  readonly status?: {
    readonly observedGeneration?: number
    readonly readyReplicas?: number
    readonly updatedReplicas?: number
  }
}

export interface BackupState {
  readonly deployment: ObservedDeployment | undefined
  readonly cluster: ObservedCluster | undefined
}

export type BackupPass = LevelPass<BackupState, FoundationDBBackup>

export const backupQueries: Readonly<Record<keyof BackupState, StateQuery>> = {
  deployment: { kind: 'apps/v1/Deployment', name: '${target.metadata.name}-backup-agents', owned: true },
  cluster: clusterQuery('${target.spec.clusterName}'),
}

// The pass over a FoundationDBRestore, and the objects that it observes.

import type { JsonObject, LevelPass, StateQuery } from '../../kit/index.ts'
import type { FoundationDBRestore } from './kind.ts'

export interface ObservedCluster extends JsonObject {
  readonly spec: { readonly version: string }
  readonly status?: { readonly connectionString?: string; readonly runningVersion?: string }
}

export interface RestoreState {
  readonly cluster: ObservedCluster | undefined
}

export type RestorePass = LevelPass<RestoreState, FoundationDBRestore>

export const restoreQueries: Readonly<Record<keyof RestoreState, StateQuery>> = {
  cluster: {
    kind: 'apps.foundationdb.org/v1beta2/FoundationDBCluster',
    name: '${target.spec.destinationClusterName}',
    pick: ['spec.version', 'status.connectionString', 'status.runningVersion'],
  },
}

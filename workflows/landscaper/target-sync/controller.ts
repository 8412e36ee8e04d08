// TargetSync in level mode, as one value. Source: spec/landscaper.md 1.9.

import { defineLevel } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { type TargetSync, targetSyncKind } from './kind.ts'
import { removeTargets, syncing, syncTargets, type TargetSyncState } from './plan.ts'

const SYNC = `${targetSyncKind.apiVersion}/${targetSyncKind.kind}`

export const targetSyncController = defineLevel<TargetSyncState, TargetSync>({
  name: 'targetSync',
  target: targetSyncKind,
  queries: {
    all: { kind: SYNC, many: true, pick: ['metadata.name'] },
  },
  plan: syncTargets,
  finalizer: FINALIZER,
  onDelete: removeTargets,
  activities: syncing,
  // Only workers with the flag ask it: others would get tasks that they cannot run.
  settings: { queue: 'target-sync' },
  // What its activities write, the wing's rules and the kind of Targets have the rights for.
  writes: [],
})

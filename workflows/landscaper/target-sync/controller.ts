// The level mode controller of TargetSyncs. Source: spec/landscaper.md 1.9.

import { defineLevel } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { type TargetSync, targetSyncKind } from './kind.ts'
import { removeTargets, syncActivities, syncTargets, type TargetSyncState } from './plan.ts'

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
  activities: syncActivities,
  // Only workers with the flag poll this queue. Other workers could not run the tasks.
  settings: { queue: 'target-sync' },
  // The rights come from the wing's rules and from the kind of Targets.
  writes: [],
})

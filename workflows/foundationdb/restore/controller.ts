// The controller of FoundationDBRestores in level mode, as one value.

import { defineLevel } from '../../kit/index.ts'
import { RESTORE_EVENT_SOURCE } from '../contract.ts'
import { explainRestore } from './explain.ts'
import { type FoundationDBRestore, restoreKind } from './kind.ts'
import { restoreQueries, type RestoreState } from './pass.ts'
import { reconcileRestore } from './plan.ts'
import { restoreCalls } from './restore-calls.ts'

export const restoreController = defineLevel<RestoreState, FoundationDBRestore>({
  name: 'fdbrestore',
  target: restoreKind,
  queries: restoreQueries,
  plan: reconcileRestore,
  explain: explainRestore,
  eventSource: RESTORE_EVENT_SOURCE,
  plurals: { 'apps.foundationdb.org/v1beta2/FoundationDBCluster': 'foundationdbclusters' },
  // Only workers with this wing poll the queue: others lack the tools.
  settings: { queue: 'foundationdb', events: 'along' },
  activities: restoreCalls,
  writes: [],
})

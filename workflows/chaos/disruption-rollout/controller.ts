// The DisruptionRollout controller in level mode, as one value. Source: spec/chaos.md 2.13.

import { defineLevel } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { disruptionKind } from '../disruption/kind.ts'
import { CHILD_KIND } from '../parent-pass.ts'
import { type DisruptionRollout, disruptionRolloutKind } from './kind.ts'
import { rolloutQueries, type RolloutPassState, endRollout, followContainers } from './plan.ts'

export const disruptionRolloutController = defineLevel<RolloutPassState, DisruptionRollout>({
  name: 'disruptionRollout',
  target: disruptionRolloutKind,
  queries: rolloutQueries,
  plan: followContainers,
  eventSource: 'disruptionrollout-controller',
  finalizer: FINALIZER,
  onDelete: endRollout,
  // Only workers with this wing poll the queue: others lack its configuration.
  settings: { queue: 'chaos', events: 'along' },
  plurals: { [CHILD_KIND]: disruptionKind.plural },
  writes: [{ kind: CHILD_KIND, verbs: ['create', 'delete'] }],
})

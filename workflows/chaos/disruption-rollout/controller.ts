// Defines the DisruptionRollout controller. It creates a Disruption when the containers of its target resource, a
// Deployment or StatefulSet, change (plan.ts). In level mode: a run starts when an object changes, without job IDs.
// Source: spec/chaos.md 2.13.

import { defineLevel } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { disruptionKind } from '../disruption/kind.ts'
import { CHILD_KIND } from '../parent-pass.ts'
import { explainRollout } from './explain.ts'
import { type DisruptionRollout, disruptionRolloutKind } from './kind.ts'
import { rolloutQueries, type RolloutPassState, endRollout, followContainers } from './plan.ts'

export const disruptionRolloutController = defineLevel<RolloutPassState, DisruptionRollout>({
  name: 'disruptionRollout',
  target: disruptionRolloutKind,
  queries: rolloutQueries,
  plan: followContainers,
  eventSource: 'disruptionrollout-controller',
  finalizer: FINALIZER,
  // Deletes the child Disruption; the finalizer is removed afterwards.
  onDelete: endRollout,
  // Only workers that run the chaos controllers (`--wings`) poll this task queue: other workers lack the chaos
  // configuration. `along`: the pass's next activity records its Kubernetes Events, without a call of their own.
  settings: { queue: 'chaos', events: 'along' },
  // CHILD_KIND is the kind Disruption, in the form `group/version/Kind`.
  explain: explainRollout,
  plurals: { [CHILD_KIND]: disruptionKind.plural },
  writes: [{ kind: CHILD_KIND, verbs: ['create', 'delete'] }],
})

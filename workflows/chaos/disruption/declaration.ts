// The Disruption controller in level mode, as one value. Source: seeds/chaos-controller.txt; spec/chaos.md 2.

import { declareLevel } from '../../kit/index.ts'
import { EVENT_SOURCE, FINALIZER } from '../contract.ts'
import { clouds } from './cloud-calls.ts'
import { explainDisruption } from './explain.ts'
import { type Disruption, disruptionKind } from './kind.ts'
import { CHAOS_NAMESPACE_EXPRESSION, disruptionQueries, type DisruptionState } from './pass.ts'

export const disruptionDeclaration = declareLevel<DisruptionState, Disruption>({
  name: 'disruption',
  target: disruptionKind,
  queries: disruptionQueries,
  eventSource: EVENT_SOURCE,
  finalizer: FINALIZER,
  // Only workers with this wing poll the queue: others lack its configuration.
  settings: { queue: 'chaos', events: 'along' },
  explain: explainDisruption,
  activities: clouds,
  writes: [
    { kind: 'v1/Pod', namespaces: [CHAOS_NAMESPACE_EXPRESSION], verbs: ['create', 'patch', 'delete'] },
    { kind: `${disruptionKind.apiVersion}/${disruptionKind.kind}`, verbs: ['delete'] },
  ],
  loadPlans: async () => (await import('./plan.ts')).disruptionPlans,
})

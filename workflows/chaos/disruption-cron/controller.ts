// The DisruptionCron controller in level mode, as one value. Source: spec/chaos.md 2.12.

import { defineLevel } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { disruptionKind } from '../disruption/kind.ts'
import { CHILD_KIND } from '../parent-pass.ts'
import { explainCron } from './explain.ts'
import { type DisruptionCron, disruptionCronKind } from './kind.ts'
import { cronQueries, type CronState, endCron, followSchedule } from './plan.ts'

export const disruptionCronController = defineLevel<CronState, DisruptionCron>({
  name: 'disruptionCron',
  target: disruptionCronKind,
  queries: cronQueries,
  plan: followSchedule,
  eventSource: 'disruptioncron-controller',
  finalizer: FINALIZER,
  onDelete: endCron,
  // Only workers with this wing poll the queue: others lack its configuration.
  settings: { queue: 'chaos', events: 'along' },
  explain: explainCron,
  plurals: { [CHILD_KIND]: disruptionKind.plural },
  writes: [
    { kind: CHILD_KIND, verbs: ['create', 'delete'] },
    { kind: `${disruptionCronKind.apiVersion}/${disruptionCronKind.kind}`, verbs: ['delete'] },
  ],
})

// The scenarios by name.

import { ask } from './ask.ts'
import { disruptionFaults } from './disruption-faults.ts'
import { disruptions } from './disruptions.ts'
import { faults } from './faults.ts'
import { latency } from './latency.ts'
import { scale } from './scale.ts'
import type { LoneScenario, Scenario } from './scenario.ts'
import { soak } from './soak.ts'
import { table } from './table.ts'
import { two } from './two.ts'

export const SCENARIOS: ReadonlyMap<string, Scenario | LoneScenario> = new Map<string, Scenario | LoneScenario>([
  ['table', table],
  ['latency', latency],
  ['scale', scale],
  ['two', two],
  ['soak', soak],
  ['faults', faults],
  ['ask', ask],
  ['disruptions', disruptions],
  ['disruption-faults', disruptionFaults],
])

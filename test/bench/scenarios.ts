// The scenarios by name.

import { latency } from './latency.ts'
import { scale } from './scale.ts'
import type { Scenario } from './scenario.ts'
import { soak } from './soak.ts'
import { table } from './table.ts'
import { two } from './two.ts'

export const SCENARIOS: ReadonlyMap<string, Scenario> = new Map([
  ['table', table],
  ['latency', latency],
  ['scale', scale],
  ['two', two],
  ['soak', soak],
])

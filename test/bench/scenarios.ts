// The scenarios by name.

import type { Scenario } from './scenario.ts'
import { table } from './table.ts'

export const SCENARIOS: ReadonlyMap<string, Scenario> = new Map([['table', table]])

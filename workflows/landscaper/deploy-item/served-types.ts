// Which items a run deploys itself. Those of all other types are foreign to it, whoever deploys them: another program, or another worker's run.

import { BUILT_IN_TYPES } from './deployers.gen.ts'
import type { HandledPartitions } from '../../kit/index.ts'

/** Whether the run deploys items of this type: a built-in one, and one of those that its input names. */
export function isTypeServed(type: string, { serves }: HandledPartitions): boolean {
  return BUILT_IN_TYPES.has(type) && serves?.includes(type) !== false
}

/** Whether Pawl has a deployer of this type, in whatever worker. */
export function isTypeBuiltIn(type: string): boolean {
  return BUILT_IN_TYPES.has(type)
}

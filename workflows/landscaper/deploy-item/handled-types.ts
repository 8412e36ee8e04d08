// The types of items that a run handles. Other types are foreign to the run: another program or another worker deploys them.

import { BUILT_IN_TYPES } from './deployers.gen.ts'
import type { HandledPartitions } from '../../kit/index.ts'

/** Whether the run handles the type: it is built in, and the run's input names it. Without names the run handles all built-in types. */
export function isTypeHandled(type: string, { serves }: HandledPartitions): boolean {
  return BUILT_IN_TYPES.has(type) && serves?.includes(type) !== false
}

/** Whether Pawl has a deployer for the type, in any worker. */
export function isTypeBuiltIn(type: string): boolean {
  return BUILT_IN_TYPES.has(type)
}

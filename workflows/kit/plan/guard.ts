// Checks of plans when they are built. Not a schema validator; the API server validates objects.

import type { Step } from './step.ts'

// Steps that many places of a plan may share: they stand for nothing that is recorded, or are empty groups.
const SHARED_NAMES: ReadonlySet<string> = new Set(['nop', 'sequential', 'join', 'joinOrdered', 'parallelJoin'])

/**
 * Returns the plan when every leaf has a name of its own, because actions are recorded and drawn by it.
 *
 * @throws a plain Error (a bug) that names all empty and repeated names.
 */
export function checkedPlan<Pass>(plan: Step<Pass>): Step<Pass> {
  const names = leaves(plan).map(({ name }) => name)
  if (names.some((name) => name.trim() === ''))
    throw new Error('a step of the plan has no name; expected a verb and a noun')
  const repeated = [...new Set(names.filter((name, index) => !SHARED_NAMES.has(name) && names.indexOf(name) !== index))]
  if (repeated.length > 0) {
    throw new Error(`steps of the plan share a name: ${repeated.join(', ')}; expected a name of its own for each`)
  }
  return plan
}

/** The steps without children, in the order of the plan. */
export function leaves<Pass>(plan: Step<Pass>): readonly Step<Pass>[] {
  return plan.children.length === 0 ? [plan] : plan.children.flatMap((child) => leaves(child))
}

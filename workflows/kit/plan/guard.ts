// Checks at the borders of pure code: of plans when they are built, of names before they become part of a workflow ID.
// Not a schema validator; the API server validates objects.

import type { Step } from './step.ts'

// As strict as a label value and as loose as the formats in use: UUIDs of our own jobs, any short name of a parent written by others.
const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

// Steps that many places of a plan may share: they stand for nothing that is recorded, or are empty groups.
const SHARED_NAMES: ReadonlySet<string> = new Set(['nop', 'sequential', 'join', 'joinOrdered', 'parallelJoin'])

/** Whether a job ID read from an object may become part of a workflow ID. A UUID is one. Source: docs/architecture.md "Writes, fields, errors". */
export function isJobID(value: unknown): value is string {
  return typeof value === 'string' && JOB_ID.test(value)
}

/** Why a job ID starts nothing, for the journal; undefined when it is one, or when there is none. The value stays out: anybody may write it. */
export function jobIDProblem(value: string | undefined): string | undefined {
  if (value === undefined || isJobID(value)) return undefined
  return 'status.jobID is not a job ID; expected at most 63 letters, digits, ".", "_" and "-"'
}

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

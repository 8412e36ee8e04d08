// Status conditions in the shape of Kubernetes' API conventions. Pure; the time is a parameter, because workflows have no clock.
//
//   C1. A condition's lastTransitionTime changes only when its status changes.
//   C2. Setting an unchanged condition returns the given list, so that the pass writes nothing.
//   C3. Controllers never decide by conditions: some conditions stay unchanged after a recovery.

import { type Field, int64, list, record, required, text, timestamp, type ValueOf } from '../kind/schema.ts'

const conditionRecord = record('A condition of the object.', {
  type: required(text('The type of the condition.')),
  status: required(text('True, False or Unknown.')),
  observedGeneration: int64('The generation of the object that the condition describes.'),
  lastTransitionTime: required(timestamp('When the status last changed.')),
  reason: required(text('The reason, in one CamelCase word.')),
  message: required(text('The reason, in a sentence.')),
})

/** A condition in a status, as Kubernetes defines it. */
export type Condition = ValueOf<typeof conditionRecord>
/** The status of a condition. */
export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** The field `conditions` of a status. */
export const conditionsField: Field<readonly Condition[]> = list('The conditions of the object.', conditionRecord)

/** A condition to set. */
export interface ConditionChange {
  readonly type: string
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
  /** The object's `metadata.generation`. */
  readonly observedGeneration?: number
}

/** Returns the list with this condition set (C1, C2). Other conditions keep their places; a new condition comes last. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  now: string,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === change.type)
  if (conditions !== undefined && before !== undefined && saysSame(before, change)) return conditions
  const moved = before === undefined || before.status !== change.status
  const after: Condition = { ...change, lastTransitionTime: moved ? now : before.lastTransitionTime }
  if (before === undefined) return [...(conditions ?? []), after]
  return (conditions ?? []).map((condition) => (condition === before ? after : condition))
}

/** An absent observedGeneration counts as unchanged. */
function saysSame(before: Condition, { status, reason, message, observedGeneration }: ConditionChange): boolean {
  const isSame = before.status === status && before.reason === reason && before.message === message
  return isSame && (observedGeneration === undefined || before.observedGeneration === observedGeneration)
}

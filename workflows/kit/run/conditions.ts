// Conditions and last errors: what an object tells its user. Pure; the time is a parameter, because workflows have no clock.
// Source: spec/landscaper.md 1.1 "Shared structures".
//
//   C1. A condition's lastTransitionTime moves only when its status changes.
//   C2. An error's lastTransitionTime moves only when its operation changes, its lastUpdateTime on every write.
//   C3. Decisions are made on phase and lastError, never on conditions: some conditions stay as they were after a recovery.

import { type Field, list, record, required, text, timestamp, type ValueOf } from '../kind/schema.ts'

const TRANSITION = 'When the status last changed.'

const conditionRecord = record('One aspect of the object, as last observed.', {
  type: required(text('Name of the aspect.')),
  status: required(text('True, False, Unknown or Progressing.')),
  lastTransitionTime: required(timestamp(TRANSITION)),
  lastUpdateTime: required(timestamp('When the condition was last written.')),
  reason: required(text('Why, in one CamelCase word.')),
  message: required(text('Why, in a sentence for people.')),
  codes: list('Error codes that led to this condition.', text('An error code, such as ERR_TIMEOUT.')),
})

const lastErrorFields = {
  operation: required(text('What was being done.')),
  lastTransitionTime: required(timestamp('When this operation first failed.')),
  lastUpdateTime: required(timestamp('When the error was last written.')),
  reason: required(text('Why, in one CamelCase word.')),
  message: required(text('Why, in a sentence for people.')),
  codes: list('Codes of the error and of what caused it.', text('An error code, such as ERR_TIMEOUT.')),
} as const

export type Condition = ValueOf<typeof conditionRecord>
export type ConditionStatus = 'True' | 'False' | 'Unknown' | 'Progressing'

/** The field `conditions` of a status. */
export const conditionsField: Field<readonly Condition[]> = list('What is known about the object.', conditionRecord)

/** A field that holds an error: `lastError`, `firstError`, or an item of `lastErrors`. */
export function errorField(description: string) {
  return record(description, lastErrorFields)
}

export type LastError = ValueOf<ReturnType<typeof errorField>>

export interface ConditionChange {
  readonly type: string
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
  readonly codes?: readonly string[]
}

/** The conditions with one of them set (C1); the others keep their places, a new one comes last. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  now: string,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === change.type)
  const moved = before === undefined || before.status !== change.status
  const after: Condition = {
    ...change,
    lastTransitionTime: moved ? now : before.lastTransitionTime,
    lastUpdateTime: now,
  }
  if (before === undefined) return [...(conditions ?? []), after]
  return (conditions ?? []).map((condition) => (condition === before ? after : condition))
}

export interface ErrorReport {
  readonly operation: string
  readonly reason: string
  readonly message: string
  readonly codes?: readonly string[]
}

/** The error to write after another one (C2). */
export function nextError(before: LastError | undefined, report: ErrorReport, now: string): LastError {
  const moved = before === undefined || before.operation !== report.operation
  return { ...report, lastTransitionTime: moved ? now : before.lastTransitionTime, lastUpdateTime: now }
}

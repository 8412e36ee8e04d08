// Explains the progress of objects to users: the step that did not finish, and its reason (progress.ts).

import { fieldsOf, listOf, type StatusExplanation, textOf } from '../kit/index.ts'
import { RECONCILED_CONDITION } from './contract.ts'

/**
 * Explains the status of an object with `status.generations` to users.
 *
 * @param object the live object, or its projection without conditions.
 */
export function explainProgress(object: object): StatusExplanation {
  const { metadata, status } = fieldsOf(object)
  const { generations } = fieldsOf(status)
  if (generations === undefined) return withReason({ phase: 'Pending' }, object)
  const { reconciled } = fieldsOf(generations)
  const isReconciled =
    Number(reconciled ?? 0) >= Number(fieldsOf(metadata)['generation']) && !hasNeeds(fieldsOf(generations))
  return withReason({ phase: isReconciled ? 'Reconciled' : 'Reconciling' }, object)
}

const NO_NEEDS: ReadonlySet<string> = new Set(['reconciled', 'hasPendingRemoval'])

/** Whether a generation waits for more than the end of removed objects. A complete generation does when it needs a repair, such as of a lost Pod. */
export function hasNeeds(generations: object | undefined): boolean {
  return Object.keys(generations ?? {}).some((field) => !NO_NEEDS.has(field))
}

/** Adds the blocked step of the condition. */
export function withReason(explanation: StatusExplanation, object: object): StatusExplanation {
  const conditions = listOf(fieldsOf(fieldsOf(object)['status'])['conditions']).map(fieldsOf)
  const found = conditions.find(({ type }) => type === RECONCILED_CONDITION)
  const message = textOf(found?.['message'])
  return message === '' ? explanation : { ...explanation, summary: `${textOf(found?.['reason'])}: ${message}` }
}

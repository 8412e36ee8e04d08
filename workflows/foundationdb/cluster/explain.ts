// Explains the status of a cluster to users: the step that did not finish, and its reason.

import { fieldsOf, listOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { RECONCILED_CONDITION } from '../contract.ts'

/** @param cluster the live object, or its projection without conditions. */
export function explainCluster(cluster: object): StatusExplanation {
  const fields = fieldsOf(cluster)
  if (fieldsOf(fields['spec'])['skip'] === true)
    return { phase: 'Skipped', summary: 'spec.skip is true; set it to false to let the controller continue' }
  const { generations, conditions } = fieldsOf(fields['status'])
  if (generations === undefined) return { phase: 'Pending' }
  const { reconciled } = fieldsOf(generations)
  const { generation } = fieldsOf(fields['metadata'])
  const phase = Number(reconciled ?? 0) >= Number(generation) ? 'Reconciled' : 'Reconciling'
  const found = listOf(conditions)
    .map(fieldsOf)
    .find(({ type }) => type === RECONCILED_CONDITION)
  const message = textOf(found?.['message'])
  return message === '' ? { phase } : { phase, summary: `${textOf(found?.['reason'])}: ${message}` }
}

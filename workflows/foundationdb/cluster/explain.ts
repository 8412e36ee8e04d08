// Explains the status of a cluster to users: the step that did not finish, and its reason.

import { fieldsOf, listOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { RECONCILED_CONDITION } from '../contract.ts'

export function explainCluster(cluster: object): StatusExplanation {
  const fields = fieldsOf(cluster)
  if (fieldsOf(fields['spec'])['skip'] === true)
    return { phase: 'Skipped', summary: 'spec.skip is true; set it to false to let the controller continue' }
  const conditions = listOf(fieldsOf(fields['status'])['conditions']).map(fieldsOf)
  const found = conditions.find(({ type }) => type === RECONCILED_CONDITION)
  if (found === undefined) return { phase: 'Pending' }
  const [status, reason, message] = [textOf(found['status']), textOf(found['reason']), textOf(found['message'])]
  const phase = status === 'True' ? 'Reconciled' : 'Reconciling'
  return message === '' ? { phase } : { phase, summary: `${reason}: ${message}` }
}

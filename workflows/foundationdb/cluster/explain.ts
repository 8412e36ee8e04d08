// Explains the status of a cluster to users: the step that did not finish, and its reason.

import { fieldsOf, type StatusExplanation } from '../../kit/index.ts'
import { explainProgress } from '../explain-progress.ts'

/** @param cluster the live object, or its projection without conditions. */
export function explainCluster(cluster: object): StatusExplanation {
  if (fieldsOf(fieldsOf(cluster)['spec'])['skip'] === true)
    return { phase: 'Skipped', summary: 'spec.skip is true; set it to false to let the controller continue' }
  return explainProgress(cluster)
}

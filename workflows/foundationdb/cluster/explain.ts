// Explains the status of a cluster to users: the step that did not finish, and its reason.

import { fieldsOf, type JsonFields, type StatusExplanation, textOf } from '../../kit/index.ts'
import { CLUSTER_LABEL } from '../contract.ts'
import { explainProgress } from '../explain-progress.ts'
import { textsOf } from '../resources/object-metadata.ts'

/** @param cluster the live object, or its projection without conditions. */
export function explainCluster(cluster: object): StatusExplanation {
  const fields = fieldsOf(cluster)
  if (fieldsOf(fields['spec'])['skip'] === true)
    return { phase: 'Skipped', summary: 'spec.skip is true; set it to false to let the controller continue' }
  const explanation = explainProgress(cluster)
  return explanation.summary === undefined ? explanation : { ...explanation, ownPods: labelsOf(fields) }
}

/** The labels by which the controller finds its Pods. */
function labelsOf({ metadata, spec }: JsonFields): Readonly<Record<string, string>> {
  const { matchLabels } = fieldsOf(fieldsOf(spec)['labels'])
  return matchLabels === undefined ? { [CLUSTER_LABEL]: textOf(fieldsOf(metadata)['name']) } : textsOf(matchLabels)
}

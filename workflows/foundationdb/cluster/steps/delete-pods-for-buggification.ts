// Step 7. Deletes Pods whose failures on purpose differ from the spec, without the usual safety checks. Source:
// seeds/foundationdb-operator-technical-design.txt DeletePodsForBuggification; spec/foundationdb.md 2.7.

import { hasWantedFailures } from '../buggification.ts'
import { clusterStep } from '../cluster-step.ts'
import { normalEvent, podsByGroup, processGroupsIn } from '../context.ts'
import { isTerminating } from '../observed.ts'
import { isMarked } from '../process-groups.ts'
import { SHORT_DELAY_MS, stopFor } from '../requeue.ts'

export const deletePodsForBuggification = clusterStep('DeletePodsForBuggification', async (context) => {
  const pods = podsByGroup(context)
  const differing = processGroupsIn(context).flatMap((group) => {
    const pod = pods.get(group.processGroupID)
    if (pod === undefined || isMarked(group) || isTerminating(pod)) return []
    return hasWantedFailures(context, pod, group.processGroupID) ? [] : [pod]
  })
  if (differing.length === 0) return undefined
  const names = differing.map(({ metadata }) => metadata.name)
  await normalEvent(context, 'UpdatingPods', `Recreating pods for buggification: ${names.join(', ')}`)
  for (const pod of differing) await context.pass.act.remove(pod)
  return stopFor('Pods need to be recreated', SHORT_DELAY_MS)
})

// Step 15. Adds the labels and annotations of the spec to Pods and volume claims; entries that are not in the spec stay. Source:
// seeds/foundationdb-operator-technical-design.txt UpdateLabels; spec/foundationdb.md 2.15.

import { CURRENT_NODE_ANNOTATION } from '../../contract.ts'
import { volumeClaimName } from '../../model/process-group-id.ts'
import { clusterStep } from '../cluster-step.ts'
import { byName, podsByGroup, processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import { isTerminating, type ObservedClaim, type ObservedPod } from '../observed.ts'
import { isMarked } from '../process-groups.ts'
import { continueWith } from '../requeue.ts'

type Texts = Readonly<Record<string, string>>

/** Written only when the object is created or confirmed. */
const OWNED = /^foundationdb\.org\/(?:last-applied-|image-type$|ip-family$|public-ip)/

export const updateLabels = clusterStep('UpdateLabels', async (context, attempt) => {
  const expected = expectedObjects(context)
  const [pods, claims] = [podsByGroup(context), byName(context.claims)]
  const problems: string[] = []
  const patch = async (object: ObservedPod | ObservedClaim, labels: Texts, annotations: Texts) => {
    const change = {
      labels: missing(object.metadata.labels, labels),
      annotations: missing(object.metadata.annotations, annotations),
    }
    if (Object.values(change).every((entries) => Object.keys(entries).length === 0)) return
    const problem = await attempt(() => context.pass.act.patch(object, { metadata: change }))
    if (problem !== undefined) problems.push(problem)
  }
  for (const group of processGroupsIn(context).filter((one) => !isMarked(one))) {
    const pod = pods.get(group.processGroupID)
    if (pod !== undefined && !isTerminating(pod)) {
      const { labels, annotations } = expected.podOf(group)
      const { nodeName } = pod.spec
      await patch(pod, labels, {
        ...annotations,
        ...(nodeName !== undefined && { [CURRENT_NODE_ANNOTATION]: nodeName }),
      })
    }
    const wanted = expected.claimOf(group)
    const claim = claims.get(volumeClaimName(context.settings.name, group.processGroupID))
    if (wanted !== undefined && claim !== undefined && !isTerminating(claim))
      await patch(claim, (wanted.metadata.labels ?? {}) as Texts, (wanted.metadata.annotations ?? {}) as Texts)
  }
  return problems.length === 0 ? undefined : continueWith(problems.slice(0, 3).join('; '))
})

/** The entries that the object does not have. */
function missing(found: Texts = {}, wanted: Texts): Texts {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => found[key] !== value && !OWNED.test(key)))
}

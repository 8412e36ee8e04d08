// Step 13. Sets the image of the sidecar in each Pod to the version of the spec, without recreating the Pod. Source:
// seeds/foundationdb-operator-technical-design.txt UpdateSidecarVersions; spec/foundationdb.md 2.13.

import { listOf, fieldsOf } from '../../../kit/index.ts'
import { SIDECAR_CONTAINER } from '../../contract.ts'
import { clusterStep } from '../cluster-step.ts'
import { normalEvent, podsByGroup, processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import { imageOf, isTerminating } from '../observed.ts'
import { isMarked } from '../process-groups.ts'

export const updateSidecarVersions = clusterStep('UpdateSidecarVersions', async (context) => {
  const { pass, settings } = context
  // Unified Pods are recreated.
  if (settings.imageType === 'unified') return undefined
  const expected = expectedObjects(context)
  const pods = podsByGroup(context)
  const wanted = new Map<string, string>()
  for (const group of processGroupsIn(context)) {
    const pod = pods.get(group.processGroupID)
    if (pod === undefined || isMarked(group) || isTerminating(pod)) continue
    const { sidecarImage } = expected.podOf(group)
    if (imageOf(pod, SIDECAR_CONTAINER) !== sidecarImage) wanted.set(pod.metadata.name, sidecarImage)
  }
  if (wanted.size === 0) return undefined
  // A patch replaces the list of containers as a whole.
  const whole = await pass.refresh('wholePods', { names: [...wanted.keys()] })
  await normalEvent(context, 'SidecarUpgraded', `Updating the sidecar image of ${[...wanted.keys()].join(', ')}`)
  for (const pod of whole) {
    const containers = listOf(fieldsOf(pod['spec'])['containers']).map((one) => {
      const container = fieldsOf(one)
      const image = wanted.get(pod.metadata.name)
      return container['name'] === SIDECAR_CONTAINER ? { ...container, image } : container
    })
    await pass.act.patch(pod, { spec: { containers } }, { fenced: true })
  }
  return undefined
})

// Step 3. Creates the ConfigMap of the cluster and keeps it up to date; labels and annotations are added and never removed. Source:
// seeds/foundationdb-operator-technical-design.txt UpdateConfigMap; spec/foundationdb.md 2.3, 4.13.

import { clusterStep } from '../cluster-step.ts'
import { normalEvent } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import type { ObservedConfigMap } from '../observed.ts'

export const updateConfigMap = clusterStep('UpdateConfigMap', async (context) => {
  const { configMap, isConfigMapCurrent } = expectedObjects(context)
  const found = context.configMap
  if (isConfigMapCurrent(found)) return undefined
  if (found !== undefined)
    await normalEvent(context, 'UpdatingConfigMap', `Updating ConfigMap ${configMap.metadata.name}`)
  const surplus = Object.keys(found?.data ?? {}).filter((key) => !(key in configMap.data))
  const data = { ...configMap.data, ...Object.fromEntries(surplus.map((key) => [key, null])) }
  await context.pass.act.apply({ ...configMap, data })
  context.configMap = { ...found, ...configMap } as ObservedConfigMap
  return undefined
})

// Step 22. Deletes the headless Service when the spec does not want it. Source: spec/foundationdb.md 2.22.

import { headlessServiceName } from '../../model/process-group-id.ts'
import { clusterStep } from '../cluster-step.ts'
import { isTerminating } from '../observed.ts'

export const removeServices = clusterStep('RemoveServices', async (context) => {
  const { settings, pass } = context
  if (settings.routing.headlessService) return undefined
  const service = context.services.find(({ metadata }) => metadata.name === headlessServiceName(settings.name))
  if (service === undefined || isTerminating(service)) return undefined
  await pass.act.remove(service)
  context.services = context.services.filter((one) => one !== service)
  return undefined
})

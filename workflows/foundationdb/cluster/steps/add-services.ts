// Step 9. Creates the headless Service and the Services of process groups, where the spec wants them. Source:
// seeds/foundationdb-operator-technical-design.txt AddServices; spec/foundationdb.md 2.9.

import { clusterStep } from '../cluster-step.ts'
import { byName, processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import { isExcluded, isMarked } from '../process-groups.ts'
import { continueWith, SHORT_DELAY_MS, stopFor } from '../requeue.ts'

export const addServices = clusterStep('AddServices', async (context, attempt) => {
  const expected = expectedObjects(context)
  const own = processGroupsIn(context)
    .filter((group) => !(isMarked(group) && isExcluded(group)))
    .flatMap((group) => expected.serviceOf(group) ?? [])
  const wanted = [...(expected.headlessService === undefined ? [] : [expected.headlessService]), ...own]
  const services = byName(context.services)
  const problems: string[] = []
  let isNew = false
  for (const service of wanted) {
    const found = services.get(service.metadata.name)
    if (found !== undefined && expected.isServiceCurrent(found, service)) continue
    isNew ||= found === undefined
    const problem = await attempt(() => context.pass.act.apply(service))
    if (problem !== undefined) problems.push(problem)
  }
  if (problems.length > 0) return continueWith(problems.join('; '))
  // Pods need the addresses of their Services.
  return isNew && own.length > 0
    ? stopFor('Services were created; their addresses are read again', SHORT_DELAY_MS)
    : undefined
})

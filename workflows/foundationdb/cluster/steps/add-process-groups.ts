// Step 8. Adds process groups to the status until each class has as many unmarked ones as desired. Creates no objects. Source:
// seeds/foundationdb-operator-technical-design.txt AddProcessGroups; spec/foundationdb.md 2.8.

import { excludedProcessGroup } from '../../database/process-address.ts'
import { processCounts } from '../../model/process-counts.ts'
import { newProcessGroupIDs } from '../../model/process-group-id.ts'
import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, normalEvent, processGroupsIn, readDatabase, updateStatus } from '../context.ts'
import { isMarked, newProcessGroup } from '../process-groups.ts'

export const addProcessGroups = clusterStep('AddProcessGroups', async (context) => {
  const missing = missingCounts(context)
  if (missing.length === 0) return undefined
  const { settings, pass, now } = context
  const taken = [
    ...processGroupsIn(context).map(({ processGroupID }) => processGroupID),
    ...(await excludedIDs(context)),
  ]
  for (const [processClass, count] of missing) {
    const known = processGroupsIn(context)
    // The number of process groups is part of the seed, so a replaced process group gets another ID.
    const seed = `${pass.target.metadata.uid}/${taken.length}`
    const ids = newProcessGroupIDs({ prefix: settings.prefix, processClass }, count, { taken, seed })
    taken.push(...ids)
    updateStatus(context, { processGroups: [...known, ...ids.map((id) => newProcessGroup(id, processClass, now))] })
  }
  const texts = missing.map(([processClass, count]) => `${count} ${processClass}`)
  await normalEvent(context, 'AddingProcesses', `Adding processes: ${texts.join(', ')}`)
  // Later steps create objects for these process groups; after a crash the next pass must find the same IDs.
  await pass.save()
  return undefined
})

function missingCounts({ settings, status }: ClusterContext): readonly (readonly [string, number])[] {
  return Object.entries(processCounts(settings)).flatMap(([processClass, desired]) => {
    const current = (status.processGroups ?? []).filter(
      (group) => group.processClass === processClass && !isMarked(group),
    ).length
    return desired > current ? [[processClass, desired - current] as const] : []
  })
}

/** A new process must not have the ID of an exclusion that is still in force. */
async function excludedIDs(context: ClusterContext): Promise<readonly string[]> {
  const reading = await readDatabase(context)
  if (!('status' in reading)) return []
  return reading.status.exclusions.flatMap((exclusion) => excludedProcessGroup(exclusion) ?? [])
}

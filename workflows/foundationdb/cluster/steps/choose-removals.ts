// Step 17. Marks process groups for removal where a class has more than desired. The process groups that stay are spread over as many fault domains as
// possible. Source: seeds/foundationdb-operator-technical-design.txt ChooseRemovals; spec/foundationdb.md 2.17.

import { distribute } from '../../database/distribution.ts'
import { processCounts } from '../../model/process-counts.ts'
import type { ProcessClass } from '../../contract.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  availableDatabase,
  changeProcessGroups,
  type ClusterContext,
  normalEvent,
  processGroupsIn,
} from '../context.ts'
import { isMarked, marked } from '../process-groups.ts'
import { continueWith } from '../requeue.ts'

export const chooseRemovals = clusterStep('ChooseRemovals', async (context) => {
  const surplus = surplusClasses(context)
  if (surplus.length === 0) return undefined
  const status = await availableDatabase(context)
  if (status === undefined)
    return continueWith('the database is unavailable; its processes are needed to choose removals')
  const localities = new Map(status.processes.map(({ locality }) => [locality['instance_id'] ?? '', locality]))
  const removed = new Set<string>()
  for (const { processClass, desired } of surplus) {
    const ids = unmarkedOf(context, processClass)
    const candidates = ids.flatMap((id) => {
      const locality = localities.get(id)
      // A process group without a reported process is removed first.
      return locality === undefined ? [] : [{ id, locality }]
    })
    const count = Math.min(desired, candidates.length)
    const primaryDataCenter = context.settings.spec.dataCenter
    const choice = distribute(candidates, { count, primaryDataCenter })
    if ('problem' in choice) return continueWith(choice.problem)
    const reported = choice.chosen.map(({ id }) => id)
    const unreported = ids.filter((id) => !localities.has(id)).slice(0, desired - reported.length)
    const remaining = new Set([...reported, ...unreported])
    for (const id of ids) if (!remaining.has(id)) removed.add(id)
  }
  changeProcessGroups(context, (group) => (removed.has(group.processGroupID) ? marked(group, context.now) : group))
  await normalEvent(context, 'ShrinkingProcesses', `Removing processes: ${[...removed].join(', ')}`)
  await context.pass.save()
  return undefined
})

function surplusClasses(
  context: ClusterContext,
): readonly { readonly processClass: string; readonly desired: number }[] {
  const counts = processCounts(context.settings)
  const classes = new Set(processGroupsIn(context).map(({ processClass = '' }) => processClass))
  return [...classes].flatMap((processClass) => {
    const desired = counts[processClass as ProcessClass] ?? 0
    return unmarkedOf(context, processClass).length > desired ? [{ processClass, desired }] : []
  })
}

function unmarkedOf(context: ClusterContext, processClass: string): readonly string[] {
  return processGroupsIn(context)
    .filter((group) => group.processClass === processClass && !isMarked(group))
    .map(({ processGroupID }) => processGroupID)
}

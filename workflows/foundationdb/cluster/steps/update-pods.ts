// Step 21. Deletes Pods with an outdated spec, one zone at a time; the next pass creates them again. Source:
// seeds/foundationdb-operator-technical-design.txt UpdatePods; spec/foundationdb.md 2.21, 4.5.

import { faultToleranceProblem } from '../../database/safety.ts'
import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, normalEvent, podsByGroup, processGroupsIn, readDatabase } from '../context.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { takeLock } from '../lock.ts'
import { isTerminating, type ObservedPod, substitutionsOf } from '../observed.ts'
import { hasCondition, isMarked } from '../process-groups.ts'
import { needsGeneration } from '../reconciliation-check.ts'
import { isReplacedForUpdate } from '../update-strategy.ts'
import { SHORT_DELAY_MS, stopFor } from '../requeue.ts'

export const updatePods = clusterStep('UpdatePods', async (context) => {
  const { settings, pass } = context
  const outdated = outdatedPods(context)
  if (outdated.length === 0) return undefined
  const pods = podsByGroup(context)
  const terminating = processGroupsIn(context).find((group) => {
    const pod = pods.get(group.processGroupID)
    return !isMarked(group) && pod !== undefined && isTerminating(pod)
  })
  if (terminating !== undefined) return stopFor(`Pod of process group ${terminating.processGroupID} is terminating`)
  const own = outdated.filter(({ group }) => !isReplacedForUpdate(settings, group.processClass ?? ''))
  if (own.length === 0) return stopFor('Pods with an outdated spec wait for their replacement')
  const { deletionMode } = settings.automation
  if (deletionMode === 'None') {
    needsGeneration(context, 'needsPodDeletion')
    const message = `Pods need to be deleted: ${own.map(({ pod }) => pod.metadata.name).join(', ')}`
    await normalEvent(context, 'NeedsPodsDeletion', message)
    return stopFor(message)
  }
  const reading = await readDatabase(context)
  if (!('status' in reading)) return stopFor('the database cannot be read; no Pod is deleted')
  const problem = faultToleranceProblem(reading.status, settings.spec.databaseConfiguration ?? {})
  if (problem !== undefined) return stopFor(`Pods with an outdated spec wait: ${problem}`)
  if (deletionMode !== 'All') {
    const blocked = await takeLock(context)
    if (blocked !== undefined) return blocked
  }
  const { zone, chosen } = choose(own, deletionMode)
  await normalEvent(context, 'UpdatingPods', `Recreating pods in ${zone}`)
  for (const { pod } of chosen) await pass.act.remove(pod)
  return stopFor('Pods were deleted to be created again', SHORT_DELAY_MS)
})

interface OutdatedPod {
  readonly group: ProcessGroupStatus
  readonly pod: ObservedPod
}

function outdatedPods(context: ClusterContext): readonly OutdatedPod[] {
  const pods = podsByGroup(context)
  return processGroupsIn(context).flatMap((group) => {
    const pod = pods.get(group.processGroupID)
    return pod !== undefined && !isMarked(group) && hasCondition(group, 'IncorrectPodSpec') ? [{ group, pod }] : []
  })
}

/** The Pods of one zone, one Pod, or all. */
function choose(
  outdated: readonly OutdatedPod[],
  mode: 'All' | 'Zone' | 'ProcessGroup',
): { readonly zone: string; readonly chosen: readonly OutdatedPod[] } {
  if (mode === 'All') return { zone: 'all zones', chosen: outdated }
  const zoneOf = ({ pod }: OutdatedPod) => substitutionsOf(pod)?.['FDB_ZONE_ID'] ?? pod.metadata.name
  const zones = [...new Set(outdated.map(zoneOf))].sort()
  const [zone = ''] = zones
  const inZone = outdated.filter((one) => zoneOf(one) === zone)
  return { zone: `zone ${zone}`, chosen: mode === 'Zone' ? inZone : inZone.slice(0, 1) }
}

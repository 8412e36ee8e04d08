// Step 21. Deletes Pods with an outdated spec, one zone at a time; the next pass creates them again. Source:
// seeds/foundationdb-operator-technical-design.txt UpdatePods; spec/foundationdb.md 2.21, 4.5.
//
//   U1. A zone follows only after the processes of recreated Pods report again, for at most `STARTING_SECONDS`; after that, only the fault tolerance of the
//       database and `maxZonesWithUnavailablePods` count, because other failures must not block an update forever.
//   U2. The Pod of a coordinator is the last one of its zone: if the pass ends before, the coordinator cannot move to a Pod that is deleted next.

import { faultToleranceProblem } from '../../database/safety.ts'
import { clusterStep } from '../cluster-step.ts'
import { coordinatorCheck } from '../coordinator-rules.ts'
import { type ClusterContext, normalEvent, podsByGroup, processGroupsIn, readDatabase } from '../context.ts'
import { eagerDelay } from '../eager-delay.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { takeLock } from '../lock.ts'
import { isTerminating, type ObservedPod, substitutionsOf } from '../observed.ts'
import { conditionSince, hasCondition, isMarked } from '../process-groups.ts'
import { needsGeneration } from '../reconciliation-check.ts'
import { isReplacedForUpdate } from '../update-strategy.ts'
import { recoveringDelay } from '../recovery-delay.ts'
import { SHORT_DELAY_MS, stopFor, USUAL_DELAY_MS, withEvent } from '../requeue.ts'

export const updatePods = clusterStep('UpdatePods', async (context) => {
  const { settings, pass } = context
  const outdated = outdatedPods(context)
  if (outdated.length === 0) return undefined
  const unavailable = unavailablePods(context)
  if (unavailable !== undefined)
    return stopFor(unavailable, eagerDelay(context, ['MissingPod', 'MissingProcesses'], USUAL_DELAY_MS))
  const own = outdated.filter(({ group }) => !isReplacedForUpdate(context, group))
  if (own.length === 0) return stopFor('Pods with an outdated spec wait for their replacement')
  const { deletionMode } = settings.automation
  if (deletionMode === 'None') {
    needsGeneration(context, 'needsPodDeletion')
    const message = `Pods need to be deleted: ${own.map(({ pod }) => pod.metadata.name).join(', ')}`
    return withEvent('NeedsPodsDeletion', stopFor(message))
  }
  const reading = await readDatabase(context)
  if (!('status' in reading)) return stopFor('the database cannot be read; no Pod is deleted')
  const problem = faultToleranceProblem(reading.status, settings.spec.databaseConfiguration ?? {})
  if (problem !== undefined)
    return stopFor(`Pods with an outdated spec wait: ${problem}`, recoveringDelay(reading.status))
  if (deletionMode !== 'All') {
    const blocked = await takeLock(context)
    if (blocked !== undefined) return blocked
  }
  const { zone, chosen } = choose(own, deletionMode)
  await normalEvent(context, 'UpdatingPods', `Recreating pods in ${zone}`)
  // U2
  const isCoordinator = coordinatorCheck(context, reading.status)
  const ordered = chosen.toSorted((one, other) => Number(isCoordinator(one.group)) - Number(isCoordinator(other.group)))
  for (const { pod } of ordered) await pass.act.remove(pod)
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

const STARTING_SECONDS = 90

/** Why no further zone may lose its Pods. */
function unavailablePods(context: ClusterContext): string | undefined {
  const pods = podsByGroup(context)
  const groups = processGroupsIn(context).filter((group) => !isMarked(group))
  const terminating = groups.find((group) => {
    const pod = pods.get(group.processGroupID)
    return pod !== undefined && isTerminating(pod)
  })
  if (terminating !== undefined) return `Pod of process group ${terminating.processGroupID} is terminating`
  const isOutdated = (group: ProcessGroupStatus) =>
    hasCondition(group, 'IncorrectPodSpec') && pods.has(group.processGroupID)
  const missing = groups.filter((group) => !isOutdated(group) && missingSince(group) !== undefined)
  // U1
  const starting = missing.find((group) => context.now.seconds - (missingSince(group) ?? 0) < STARTING_SECONDS)
  if (starting !== undefined) return `process group ${starting.processGroupID} does not report to the database yet`
  const { maxZonesWithUnavailablePods: most = Infinity } = context.settings.spec
  const zones = new Set(missing.map(({ faultDomain, processGroupID }) => faultDomain ?? processGroupID))
  return zones.size < most ? undefined : `${zones.size} zones have unavailable Pods; expected fewer than ${most}`
}

function missingSince(group: ProcessGroupStatus): number | undefined {
  return conditionSince(group, 'MissingPod') ?? conditionSince(group, 'MissingProcesses')
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

// Step 11. Creates the missing Pods of process groups that are not to be removed, and deletes unusable ones to create them again. Source: seeds/foundationdb-operator-technical-design.txt AddPods;
// spec/foundationdb.md 2.11, 2.24, 8.3.
//
//   A1. A Pod that cannot be created, such as because of a quota, does not delay the other Pods or steps.
//   A2. A Pod whose address is the address of its Service waits for this Service.

import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, normalEvent, processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import type { ObservedPod } from '../observed.ts'
import { isExcluded, isMarked } from '../process-groups.ts'
import { continueWith, SHORT_DELAY_MS, type StepResult, stopFor } from '../requeue.ts'
import { unusablePods } from '../unusable-pods.ts'

export const addPods = clusterStep('AddPods', async (context, attempt) => {
  const unusable = await unusablePods(context)
  if (unusable.length > 0) return await recreate(context, unusable)
  const expected = expectedObjects(context)
  const known = new Set(context.pods.map(({ metadata }) => metadata.name))
  const missing = processGroupsIn(context)
    .filter((group) => getsPod(context, group))
    .map((group) => ({ group, pod: expected.podOf(group) }))
    .filter(({ pod }) => !known.has(pod.name))
  const [waiting] = missing.filter(({ group }) => !expected.hasPublicAddress(group))
  // A2
  if (waiting !== undefined) return stopFor(`Pod ${waiting.pod.name} waits for the address of its Service`)
  const problems: string[] = []
  for (const { pod } of missing) {
    // A1
    const problem = await attempt(() => context.pass.act.create(pod.object()))
    if (problem !== undefined) problems.push(problem)
  }
  return problems.length === 0 ? undefined : continueWith(problems.slice(0, 3).join('; '))
})

async function recreate(context: ClusterContext, unusable: readonly ObservedPod[]): Promise<StepResult> {
  const names = unusable.map(({ metadata }) => metadata.name).join(', ')
  await normalEvent(context, 'UpdatingPods', `Recreating pods that cannot run again: ${names}`)
  for (const pod of unusable) await context.pass.act.remove(pod)
  return stopFor(`Pods were deleted to be created again: ${names}`, SHORT_DELAY_MS)
}

function getsPod({ settings }: ClusterContext, group: ProcessGroupStatus): boolean {
  if (!isMarked(group)) return true
  return settings.automation.createPodsForRemoval && !isExcluded(group)
}

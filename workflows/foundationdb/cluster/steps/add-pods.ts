// Step 11. Creates the missing Pods of process groups that are not to be removed. Source: seeds/foundationdb-operator-technical-design.txt AddPods;
// spec/foundationdb.md 2.11, 8.3.
//
//   A1. A Pod that cannot be created, such as because of a quota, does not delay the other Pods or steps.
//   A2. A Pod whose address is the address of its Service waits for this Service.

import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { isExcluded, isMarked } from '../process-groups.ts'
import { continueWith, stopFor } from '../requeue.ts'

export const addPods = clusterStep('AddPods', async (context, attempt) => {
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

function getsPod({ settings }: ClusterContext, group: ProcessGroupStatus): boolean {
  if (!isMarked(group)) return true
  return settings.automation.createPodsForRemoval && !isExcluded(group)
}

// Failures on purpose (`spec.buggify`) that are part of a Pod. Pure. Source: spec/foundationdb.md 2.7.

import { MAIN_CONTAINER } from '../contract.ts'
import type { ClusterContext } from './context.ts'
import { crashingContainers, isUnschedulable, type ObservedPod } from './observed.ts'

/** Whether the containers of the Pod crash, and the Pod cannot be scheduled, exactly where the spec says so. @param id of the process group. */
export function hasWantedFailures(
  { settings }: Pick<ClusterContext, 'settings'>,
  pod: ObservedPod,
  id: string,
): boolean {
  const { noSchedule = [], crashLoop = [], crashLoopContainers = [] } = settings.spec.buggify ?? {}
  const isMeant = (targets: readonly string[]) => targets.includes(id) || targets.includes('*')
  const crashing = new Set(crashingContainers(pod))
  return (
    isUnschedulable(pod) === noSchedule.includes(id) &&
    pod.spec.containers.every(({ name }) => {
      const targets = crashLoopContainers
        .filter((one) => one.containerName === name)
        .flatMap((one) => one.targets ?? [])
      return crashing.has(name) === isMeant(name === MAIN_CONTAINER ? [...crashLoop, ...targets] : targets)
    })
  )
}

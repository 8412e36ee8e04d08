// Finds targets that were recreated under the same name on another node, as a StatefulSet does: their chaos pods are on
// the wrong node and disturb nothing.
//
// T1. A run on the new node replaces the chaos pod on the old node. The status names the new chaos pod before the
//   controller deletes or creates one, so the old chaos pod is not mistaken for a chaos pod that a user deleted.
// T2. Disruption kinds that act once and leave nothing do not follow a target: a replaced pod, or a pod of a failed
//   node, is expected to start elsewhere.

import { leavesNothing } from '../contract.ts'
import type { ChaosPod, Target } from './observed.ts'
import { type EndingPass, statusIn } from './pass.ts'

/** Whether the target runs on another node than its chaos pod. */
export function isOnPreviousNode({ node, isOfNode, does }: ChaosPod, target: Target | undefined): boolean {
  if (node === undefined || isOfNode === true || leavesNothing(does)) return false
  return target?.isRunning === true && target.node !== '' && target.node !== node
}

// The snapshot of this pass still shows the objects that this pass has deleted.
const replacedPodsIn = new WeakMap<object, ReadonlySet<string>>()

/** Records the chaos pods that this pass replaces. */
export function rememberReplaced(pass: object, pods: readonly ChaosPod[]): void {
  replacedPodsIn.set(pass, new Set(pods.map(({ metadata }) => metadata.uid)))
}

/** Whether the status names another chaos pod in its place (T1). */
export function isReplaced(
  pass: Pick<EndingPass, 'target' | 'status'>,
  { target, does, isDeleting, metadata }: Pick<ChaosPod, 'target' | 'does' | 'isDeleting' | 'metadata'>,
): boolean {
  const isGoing = isDeleting || replacedPodsIn.get(pass)?.has(metadata.uid) === true
  const name = statusIn(pass).targetInjections?.[target]?.[does]?.injectorPodName
  return isGoing && name !== undefined && name !== metadata.name
}

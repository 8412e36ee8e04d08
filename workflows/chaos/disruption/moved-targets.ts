// Targets that were recreated under the same name on another node, as a StatefulSet does it: their chaos pods are on the wrong node, and disturb nothing.
//
//   T1. The chaos pod on the former node is replaced by another run on the present one. The status has the name of the new chaos pod before either is
//       touched, so that nobody takes the former one for a chaos pod that somebody else has deleted.
//   T2. Kinds that are done once and leave nothing follow nobody: a pod that was replaced, or whose node has failed, is meant to come up elsewhere.

import { leavesNothing } from '../contract.ts'
import type { ChaosPod, Target } from './observed.ts'
import { type EndingPass, statusIn } from './pass.ts'

/** Whether its target runs on another node by now. */
export function isOnFormerNode({ node, isOfNode, does }: ChaosPod, target: Target | undefined): boolean {
  if (node === undefined || isOfNode === true || leavesNothing(does)) return false
  return target?.isRunning === true && target.node !== '' && target.node !== node
}

// What this pass has deleted looks alive in what it has read.
const replacedIn = new WeakMap<object, ReadonlySet<string>>()

/** Remembers the chaos pods that this pass replaces. */
export function rememberReplaced(pass: object, pods: readonly ChaosPod[]): void {
  replacedIn.set(pass, new Set(pods.map(({ metadata }) => metadata.uid)))
}

/** Whether another chaos pod has its place in the status (T1). */
export function isReplaced(
  pass: Pick<EndingPass, 'target' | 'status'>,
  { target, does, isDeleting, metadata }: Pick<ChaosPod, 'target' | 'does' | 'isDeleting' | 'metadata'>,
): boolean {
  const isGoing = isDeleting || replacedIn.get(pass)?.has(metadata.uid) === true
  const name = statusIn(pass).targetInjections?.[target]?.[does]?.injectorPodName
  return isGoing && name !== undefined && name !== metadata.name
}

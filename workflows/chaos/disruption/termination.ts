// What becomes of a chaos pod that is being deleted. Source: seeds/chaos-controller.txt "Cleanup phase", step 2; spec/chaos.md 2.7.

import { leavesNothing } from '../contract.ts'
import type { ChaosPod } from './observed.ts'

/** Whether what a chaos pod has done can be undone at its target: one that is gone, or does not run, has nothing left of it. */
export type TargetHealth = 'cleanable' | 'gone' | 'not running' | 'node not ready'

/** `skip`: nothing is asked; `release`: its finalizer goes; `stuck`: somebody has to look; `wait`: it still cleans. */
export type Termination = 'skip' | 'release' | 'stuck' | 'wait'

type Ending = Pick<ChaosPod, 'phase' | 'reason' | 'injector' | 'does' | 'isDeleting' | 'isHeld'>

/** @param health asked only where it matters (`needsHealth`); undefined counts as cleanable. */
export function terminationOf(pod: Ending, health: TargetHealth | undefined): Termination {
  const early = earlyTermination(pod)
  if (early !== undefined) return early
  if (health !== undefined && health !== 'cleanable') return 'release'
  return pod.phase === 'Failed' ? 'stuck' : 'wait'
}

/** Whether it depends on the target. */
export function needsHealth(pod: Ending): boolean {
  return earlyTermination(pod) === undefined
}

function earlyTermination({
  isDeleting,
  isHeld,
  does,
  phase,
  reason,
  injector,
}: Ending): 'skip' | 'release' | undefined {
  if (!isDeleting || !isHeld) return 'skip'
  if (leavesNothing(does) || phase === 'Succeeded' || phase === 'Pending') return 'release'
  const neverBegan = injector === 'never' || injector === 'waiting' || injector === 'startError'
  if (phase === 'Failed' && (reason === 'DeadlineExceeded' || neverBegan)) return 'release'
  return undefined
}

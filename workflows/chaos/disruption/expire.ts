// Handles expired Disruptions: their chaos pods end by themselves, and the object is deleted later if the operators
// configure it. Source: spec/chaos.md 2.2 (5, 9, 10), B19.
//
// E1. The controller deletes a chaos pod that does not end by itself, so no chaos pod disturbs for longer than
//   requested. A failed chaos pod may have left changes behind, which are reported as in a deletion.
// E2. A Disruption has expired as soon as one clock says so, even if other clocks are behind or were set back
//   (`LevelPass.latest`). The Event names the clock if they differ.

import { action, again, done, joinOutcomes, later, type Outcome } from '../../kit/index.ts'
import { timestampText } from '../timestamp.ts'
import { DEADLINE_MARGIN_SECONDS } from './chaos-pod.ts'
import { remainingChaosPods, deleteChaosPods, RECHECK_MS } from './end-chaos-pods.ts'
import type { ChaosPod } from './observed.ts'
import { configOf, type DisruptionPass, timesIn, chaosNamespaceIn } from './pass.ts'
import { updateInjectionStatus } from './injection-status.ts'
import { removeFinalizerCommand } from '../contract.ts'

/** Later than the deadlines of injector and chaos pod, which normally end it. */
const END_MARGIN_MS = 1000 * (DEADLINE_MARGIN_SECONDS + 5)

export function isExpired(pass: DisruptionPass): boolean {
  return pass.latest.getTime() >= timesIn(pass).end
}

export const expire = action<DisruptionPass>('expire', async (pass): Promise<Outcome> => {
  const { act, target, latest } = pass
  const { end } = timesIn(pass)
  const { expiredDisruptionGCDelayMs: delayMs } = configOf(pass).controller
  const deleteAt = delayMs === undefined ? undefined : end + delayMs
  const ended = await deleteLate(pass, end)
  updateInjectionStatus(pass)
  if (deleteAt !== undefined && latest.getTime() >= deleteAt) {
    await act.event({ type: 'Normal', reason: 'GCOver', message: 'it has been over for long enough, and is deleted' })
    await act.remove(target)
    // A controller's own deletion does not wake the run.
    return again(0)
  }
  if (!isExpiryReported(target))
    await act.event({ type: 'Normal', reason: 'DurationOver', message: expiryText(pass, deleteAt) })
  return joinOutcomes(ended, deleteAt === undefined ? done : later(deleteAt - latest.getTime()))
})

/** Whether an earlier pass has reported the expiry, by any clock. */
function isExpiryReported({ status }: DisruptionPass['target']): boolean {
  return status?.injectionStatus?.startsWith('Previously') === true
}

/** Smaller differences between clocks are not reported. */
const CLOCK_TOLERANCE_MS = 5000

/** E2 */
function expiryText(pass: DisruptionPass, goes: number | undefined): string {
  const isBehind = timesIn(pass).end - pass.now.getTime() > CLOCK_TOLERANCE_MS
  const by = isBehind ? " by another clock (Temporal's clock is behind, or a clock was set back)" : ''
  return `the duration has passed${by}; the disruption is being removed${goes === undefined ? '' : `, and the Disruption is deleted at ${timestampText(goes)}`}`
}

/** E1 */
async function deleteLate(pass: DisruptionPass, end: number): Promise<Outcome> {
  const { latest } = pass
  const unfinished = remainingChaosPods(pass).filter(
    ({ hasCompleted, phase }) => !hasCompleted && phase !== 'Succeeded',
  )
  if (unfinished.length === 0) return done
  const lateIn = end + END_MARGIN_MS - latest.getTime()
  const isLate = ({ isDeleting, phase }: ChaosPod) => !isDeleting && (phase === 'Failed' || lateIn <= 0)
  await deleteChaosPods(pass, unfinished.filter(isLate))
  if (lateIn > 0) return later(lateIn)
  const overdueIn = await reportOverdue(pass, unfinished, { since: end, cause: 'end' })
  return later(Math.min(overdueIn ?? RECHECK_MS, RECHECK_MS))
}

const MAX_NAMED_PODS = 5

export interface EndCause {
  /** Milliseconds since the epoch. */
  readonly since: number
  /** The cause of the end, for the Event. */
  readonly cause: 'deletion' | 'end'
}

/**
 * Marks the Disruption as stuck and reports how to resolve it if chaos pods exist for longer than
 * `disruptionDeletionTimeout`.
 *
 * @returns the milliseconds until then; undefined if the time has passed.
 */
export async function reportOverdue(
  pass: Pick<DisruptionPass, 'now' | 'status' | 'act' | 'settings' | 'target'>,
  left: readonly ChaosPod[],
  { since, cause }: EndCause,
): Promise<number | undefined> {
  const { now, status, act } = pass
  const { disruptionDeletionTimeoutMs: most } = configOf(pass).controller
  const isIn = since + most - now.getTime()
  if (isIn > 0) return isIn
  status.isStuckOnRemoval = true
  const names = left.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).sort()
  const shown = [...names.slice(0, MAX_NAMED_PODS), ...(names.length > MAX_NAMED_PODS ? ['...'] : [])].join(', ')
  await act.event({
    type: 'Warning',
    reason: 'StuckOnRemoval',
    message:
      `${left.length} chaos pods still exist ${Math.round(most / 60_000)} min after the ${cause}: ${shown}; check their nodes and logs, ` +
      `undo the remaining changes, then remove their finalizers: ${removeFinalizerCommand(chaosNamespaceIn(pass), 'NAME')}`,
  })
  return undefined
}

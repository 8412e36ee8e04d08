// What is done with a Disruption whose time is over: its chaos pods end by themselves; the object is deleted some time after, where the operators want that.
// Source: spec/chaos.md 2.2 (9, 10).
//
//   E1. What does not end by itself is ended: no chaos pod disturbs for longer than it was to. One that has failed may have left something, which is told as
//       in deletion.
//   E2. It is over when one clock says so, also where others are behind or were set back (`LevelPass.latest`); which one is said, where they differ.

import { action, again, done, joinOutcomes, later, type Outcome } from '../../kit/index.ts'
import { instantText } from '../instant.ts'
import { ACTIVE_PAD_SECONDS } from './chaos-pod.ts'
import { chaosPodsLeft, deleteChaosPods, LOOK_AGAIN_MS } from './end-chaos-pods.ts'
import type { ChaosPod } from './observed.ts'
import { tellOverdue } from './overdue.ts'
import { configOf, type DisruptionPass, timesIn } from './pass.ts'
import { sayInjection } from './tell-injection.ts'

/** Later than the deadlines of injector and chaos pod, which are to be the ones that end it. */
const LATE_MS = 1000 * (ACTIVE_PAD_SECONDS + 5)

export function isExpired(pass: DisruptionPass): boolean {
  return pass.latest.getTime() >= timesIn(pass).end
}

export const expire = action<DisruptionPass>('expire', async (pass): Promise<Outcome> => {
  const { act, target, latest } = pass
  const { end } = timesIn(pass)
  const { expiredDisruptionGCDelayMs: delayMs } = configOf(pass).controller
  const goes = delayMs === undefined ? undefined : end + delayMs
  const ended = await endLate(pass, end)
  sayInjection(pass)
  if (goes !== undefined && latest.getTime() >= goes) {
    await act.event({ type: 'Normal', reason: 'GCOver', message: 'it has been over for long enough, and is deleted' })
    await act.remove(target)
    // Its own deletion wakes no run.
    return again(0)
  }
  if (!isToldOf(target)) await act.event({ type: 'Normal', reason: 'DurationOver', message: overText(pass, goes) })
  return joinOutcomes(ended, goes === undefined ? done : later(goes - latest.getTime()))
})

/** An earlier pass has said that it is over, whichever clock that went by. */
function isToldOf({ status }: DisruptionPass['target']): boolean {
  return status?.injectionStatus?.startsWith('Previously') === true
}

/** Clocks that are not known better than this are one. */
const DIFFERS_MS = 5000

/** E2 */
function overText(pass: DisruptionPass, goes: number | undefined): string {
  const isBehind = timesIn(pass).end - pass.now.getTime() > DIFFERS_MS
  const by = isBehind ? " by a clock that Temporal's is behind, or that was set back" : ''
  return `its time is over${by}${goes === undefined ? '' : `; it will be deleted at ${instantText(goes)}`}`
}

/** E1 */
async function endLate(pass: DisruptionPass, end: number): Promise<Outcome> {
  const { latest } = pass
  const left = chaosPodsLeft(pass).filter(({ hasCompleted, phase }) => !hasCompleted && phase !== 'Succeeded')
  if (left.length === 0) return done
  const lateIn = end + LATE_MS - latest.getTime()
  const isLate = ({ isDeleting, phase }: ChaosPod) => !isDeleting && (phase === 'Failed' || lateIn <= 0)
  await deleteChaosPods(pass, left.filter(isLate))
  if (lateIn > 0) return later(lateIn)
  const overdueIn = await tellOverdue(pass, left, { since: end, what: 'end' })
  return later(Math.min(overdueIn ?? LOOK_AGAIN_MS, LOOK_AGAIN_MS))
}

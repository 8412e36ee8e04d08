// What is done with a Disruption whose time is over: its chaos pods end by themselves; the object is deleted some time after, where the operators want that.
// Source: spec/chaos.md 2.2 (9, 10).
//
//   E1. What does not end by itself is ended: no chaos pod disturbs for longer than it was to. One that has failed may have left something, which is told as
//       in deletion.

import { action, again, done, joinOutcomes, later, type Outcome } from '../../kit/index.ts'
import { instantText } from '../instant.ts'
import { ACTIVE_PAD_SECONDS } from './chaos-pod.ts'
import { deleteChaosPods, LOOK_AGAIN_MS } from './end-chaos-pods.ts'
import type { ChaosPod } from './observed.ts'
import { tellOverdue } from './overdue.ts'
import { configOf, type DisruptionPass, timesIn } from './pass.ts'
import { sayInjection } from './tell-injection.ts'

/** Later than the deadlines of injector and chaos pod, which are to be the ones that end it. */
const LATE_MS = 1000 * (ACTIVE_PAD_SECONDS + 5)

export function isExpired(pass: DisruptionPass): boolean {
  return pass.now.getTime() >= timesIn(pass).end
}

export const expire = action<DisruptionPass>('expire', async (pass): Promise<Outcome> => {
  const { act, target, now } = pass
  const { end } = timesIn(pass)
  const { expiredDisruptionGCDelayMs: delayMs } = configOf(pass).controller
  const goes = delayMs === undefined ? undefined : end + delayMs
  const ended = await endLate(pass, end)
  sayInjection(pass)
  if (goes !== undefined && now.getTime() >= goes) {
    await act.event({ type: 'Normal', reason: 'GCOver', message: 'it has been over for long enough, and is deleted' })
    await act.remove(target)
    // Its own deletion wakes no run.
    return again(0)
  }
  await act.event({
    ...{ type: 'Normal', reason: 'DurationOver' },
    message: goes === undefined ? 'its time is over' : `its time is over; it will be deleted at ${instantText(goes)}`,
  })
  return joinOutcomes(ended, goes === undefined ? done : later(goes - now.getTime()))
})

/** E1 */
async function endLate(pass: DisruptionPass, end: number): Promise<Outcome> {
  const { state, now } = pass
  const left = state.chaosPods.filter(({ hasCompleted, phase }) => !hasCompleted && phase !== 'Succeeded')
  if (left.length === 0) return done
  const lateIn = end + LATE_MS - now.getTime()
  const isLate = ({ isDeleting, phase }: ChaosPod) => !isDeleting && (phase === 'Failed' || lateIn <= 0)
  await deleteChaosPods(pass, left.filter(isLate))
  if (lateIn > 0) return later(lateIn)
  const overdueIn = await tellOverdue(pass, left, { since: end, what: 'end' })
  return later(Math.min(overdueIn ?? LOOK_AGAIN_MS, LOOK_AGAIN_MS))
}

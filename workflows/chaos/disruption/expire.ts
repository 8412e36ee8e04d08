// What is done with a Disruption whose time is over: its chaos pods end by themselves; the object is deleted some time after, where the operators want that.
// Source: spec/chaos.md 2.2 (9, 10).

import { action, again, done, later, type Outcome } from '../../kit/index.ts'
import { configOf, type DisruptionPass, timesIn } from './pass.ts'
import { sayInjection } from './tell-injection.ts'
import { instantText } from '../instant.ts'

export function isExpired(pass: DisruptionPass): boolean {
  return pass.now.getTime() >= timesIn(pass).end
}

export const expire = action<DisruptionPass>('expire', async (pass): Promise<Outcome> => {
  const { act, target, now } = pass
  const { end } = timesIn(pass)
  const { expiredDisruptionGCDelayMs: delayMs } = configOf(pass).controller
  const goes = delayMs === undefined ? undefined : end + delayMs
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
  return goes === undefined ? done : later(goes - now.getTime())
})

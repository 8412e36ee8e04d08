// The emergency stop: an annotation on the namespace of a Disruption, or on that of chaos pods for all of them. What is there is deleted, and what comes
// meanwhile is deleted before it does anything, also where no webhook refuses it.

import { action, again, done, type Outcome } from '../../kit/index.ts'
import { stopIn, stopText } from '../emergency-stop.ts'
import type { DisruptionPass } from './pass.ts'

export const obeyStop = action<DisruptionPass>('obeyStop', async ({ act, target, state }): Promise<Outcome> => {
  const stop = stopIn(state)
  if (stop === undefined) return done
  await act.event({ type: 'Warning', reason: 'EmergencyStop', message: stopText(stop, 'it is deleted') })
  await act.remove(target)
  return again(0)
})

// The emergency stop: an annotation on the namespace of a Disruption, or on that of chaos pods for all of them. What is there is deleted, and what comes
// meanwhile is deleted before it does anything, also where no webhook refuses it.

import { action, again, done, type Outcome } from '../../kit/index.ts'
import { EMERGENCY_STOP_ANNOTATION } from '../contract.ts'
import type { DisruptionPass } from './pass.ts'

export const obeyStop = action<DisruptionPass>('obeyStop', async (pass): Promise<Outcome> => {
  const { act, target } = pass
  const places = await Promise.all([pass.refresh('home'), pass.refresh('chaosHome')])
  const stopping = places.find((place) => place?.stop !== undefined)
  if (stopping === undefined) return done
  const why = stopping.stop === '' || stopping.stop === 'true' ? '' : `: ${stopping.stop}`
  await act.event({
    ...{ type: 'Warning', reason: 'EmergencyStop' },
    message: `namespace ${stopping.name} has the annotation ${EMERGENCY_STOP_ANNOTATION}, so it is deleted${why}`.slice(
      0,
      1000,
    ),
  })
  await act.remove(target)
  return again(0)
})

// The recorded controller that applies other content: it calls what was called, in the same order, so that a replay of the SDK finds nothing wrong with it.

import { action, defineLevel, done, type LevelPass, parallelJoin, sequential } from 'pawl/kit'

import { type Beacon, beacon, type BeaconState, steps } from './beacon.ts'

const { applyBulb, readLamp, countRounds } = steps

const applyMessage = action<LevelPass<BeaconState, Beacon>>('applyMessage', async ({ target, act, status }) => {
  const { message } = target.spec
  // The number of keys is gone.
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: target.metadata.name }, data: { message } })
  status['message'] = message
  return done
})

export const controllers = [
  defineLevel<BeaconState, Beacon>({
    ...beacon,
    plan: sequential(parallelJoin(applyMessage, applyBulb), readLamp, countRounds),
  }),
]

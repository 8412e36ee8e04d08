// The recorded controller with other applied content: it makes the same calls in the same order, so that the SDK's replay finds no difference.

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

// The recorded controller with two actions exchanged: an incompatible change of a plan.

import { defineLevel, sequential } from 'pawl/kit'

import { type Beacon, beacon, type BeaconState, steps } from './beacon.ts'

const { applyMessage, applyBulb, readLamp, countRounds } = steps

export const controllers = [
  defineLevel<BeaconState, Beacon>({ ...beacon, plan: sequential(readLamp, applyMessage, applyBulb, countRounds) }),
]

// The recorded controller with two of its actions in each other's place: what a careless change of a plan would do to open runs.

import { defineLevel, sequential } from 'pawl/kit'

import { type Beacon, beacon, type BeaconState, steps } from './beacon.ts'

const { applyMessage, applyBulb, readLamp, countRounds } = steps

export const controllers = [
  defineLevel<BeaconState, Beacon>({ ...beacon, plan: sequential(readLamp, applyMessage, applyBulb, countRounds) }),
]

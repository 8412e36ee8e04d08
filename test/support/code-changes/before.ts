// The controllers as the first worker has them: all do the same.

import { defineLevel, type LevelController, sequential } from 'pawl/kit'

import { applyMap, CONTROLLERS, type Name, queriesOf, readMap, roverKind, waitToGo } from './rover.ts'

const controllerOf = (name: Name): LevelController =>
  defineLevel({
    name,
    target: roverKind,
    queries: queriesOf(name),
    plan: sequential(applyMap(name, 'before'), readMap, waitToGo),
  })

export const controllers = CONTROLLERS.map(controllerOf)

// The changed controllers without the bug.

import { defineLevel, sequential } from 'pawl/kit'

import { changed } from './after.ts'
import { applyMap, queriesOf, readMap, roverKind, waitToGo } from './rover.ts'

export const controllers = [
  ...changed('after'),
  defineLevel({
    name: 'buggy',
    target: roverKind,
    queries: queriesOf('buggy'),
    plan: sequential(applyMap('buggy', 'better'), readMap, waitToGo),
  }),
]

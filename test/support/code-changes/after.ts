// The same controllers after changes of each kind, and one with a bug.

import { action, defineLevel, done, type LevelController, sequential } from 'pawl/kit'

import { applyMap, type Name, type Pass, queriesOf, readMap, roverKind, waitToGo } from './rover.ts'

const countMore = action<Pass>('countMore', ({ state }) => (state.more.length >= 0 ? done : done))

/** Most rovers have none. */
const callByName = action<Pass>('callByName', ({ target, status }) => {
  const { nickname } = target.spec as { readonly nickname: string }
  status['nickname'] = nickname.toUpperCase()
  return done
})

export const changed = (code: string): LevelController[] => {
  const made = (name: Name) => applyMap(name, code)
  const one = (name: Name) => ({ name, target: roverKind, queries: queriesOf(name) })
  const more = { kind: 'v1/ConfigMap', many: true, labels: { rover: '${target.metadata.name}' } } as const
  return [
    defineLevel({ ...one('more'), plan: sequential(made('more'), readMap, readMap, waitToGo) }),
    defineLevel({ ...one('less'), plan: sequential(made('less'), waitToGo) }),
    defineLevel({ ...one('reordered'), plan: sequential(readMap, made('reordered'), waitToGo) }),
    defineLevel({
      ...one('renamed'),
      plan: sequential({ ...made('renamed'), name: 'makeMap' }, { ...readMap, name: 'lookAtMap' }, waitToGo),
    }),
    defineLevel({
      ...one('query'),
      queries: { ...queriesOf('query'), more },
      plan: sequential(countMore, made('query'), readMap, waitToGo),
    }),
  ]
}

export const controllers = [
  ...changed('after'),
  defineLevel({
    name: 'buggy',
    target: roverKind,
    queries: queriesOf('buggy'),
    plan: sequential(callByName, applyMap('buggy', 'after'), readMap, waitToGo),
  }),
]

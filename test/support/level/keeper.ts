// A kind whose deletion creates a ConfigMap. The API server rejects the creation in a namespace that is being deleted.

import {
  action,
  defineKind,
  defineLevel,
  done,
  type LevelPass,
  nop,
  type ObjectOf,
  oneOf,
  orElse,
  record,
  required,
  sequential,
  type StateQuery,
  stop,
  when,
} from 'pawl/kit'
import type { ConfigMap } from 'pawl/kit/v1'

import { TEST_KIND } from './test-kind.ts'

export const keeperKind = defineKind({
  ...TEST_KIND,
  group: 'keepers.test.pawl.dev',
  kind: 'Keeper',
  plural: 'keepers',
  singular: 'keeper',
  schema: {
    spec: required(record('What is wanted.', { copy: required(oneOf('Of the kept.', ['needed', 'wanted'])) })),
  },
})

interface KeeperState {
  readonly map: ConfigMap | undefined
}

const queries = {
  map: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
} as const satisfies Record<keyof KeeperState, StateQuery>

type Pass = LevelPass<KeeperState, ObjectOf<typeof keeperKind>>

const keep = action<Pass>('keep', async ({ target, act }) => {
  await act.apply<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: target.metadata.name } })
  return done
})

const copy = action<Pass>('copy', async ({ target, act }) => {
  const metadata = { name: `${target.metadata.name}-copy` }
  await act.create<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata }, { owner: 'none' })
  return done
})

const remove = action<Pass>('remove', async ({ state, act }) => {
  if (state.map === undefined) return done
  await act.remove(state.map)
  return stop('waiting for the ConfigMap to be gone')
})

const needsCopy = ({ target }: Pass) => target.spec.copy === 'needed'

export const controllers = [
  defineLevel({
    name: 'keeper',
    target: keeperKind,
    queries,
    finalizer: 'keepers.test.pawl.dev/map',
    writes: ['v1/ConfigMap'],
    plan: keep,
    onDelete: sequential(when(needsCopy, copy, orElse(copy, nop)), remove),
  }),
]

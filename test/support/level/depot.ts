// A kind whose controller looks at Secrets, by name and by label, and does other things that need none.

import {
  action,
  always,
  conditionsField,
  defineKind,
  defineLevel,
  done,
  integer,
  join,
  type LevelPass,
  type ObjectOf,
  record,
  reportFaults,
  required,
  type StateQuery,
  stop,
  text,
} from 'pawl/kit'
import type { ConfigMap, Secret } from 'pawl/kit/v1'

import { TEST_KIND } from './test-kind.ts'

export const depotKind = defineKind({
  ...TEST_KIND,
  group: 'depots.test.pawl.dev',
  kind: 'Depot',
  plural: 'depots',
  singular: 'depot',
  schema: {
    spec: required(record('What is wanted.', { token: required(text('Name of a Secret.')) })),
    status: record('What is there.', {
      keys: integer('Of the Secret.'),
      others: integer('Secrets with its label.'),
      conditions: conditionsField,
    }),
  },
})

interface DepotState {
  readonly map: ConfigMap | undefined
  readonly token: Secret | undefined
  readonly others: readonly Secret[]
}

const queries = {
  map: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
  token: { kind: 'v1/Secret', name: '${target.spec.token}' },
  others: { kind: 'v1/Secret', many: true, labels: { depot: '${target.metadata.name}' } },
} as const satisfies Record<keyof DepotState, StateQuery>

type Pass = LevelPass<DepotState, ObjectOf<typeof depotKind>>

const applyMap = action<Pass>('applyMap', async ({ target, act }) => {
  await act.apply<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: target.metadata.name } })
  return done
})

const readToken = action<Pass>('readToken', ({ state, status }) => {
  status.keys = Object.keys(state.token?.data ?? {}).length
  return done
})

const countOthers = action<Pass>('countOthers', ({ state, status }) => {
  status.others = state.others.length
  return done
})

const removeMap = action<Pass>('removeMap', async ({ state, act }) => {
  if (state.map === undefined) return done
  await act.remove(state.map)
  return stop('waiting for the ConfigMap to be gone')
})

export const controllers = [
  defineLevel({
    name: 'depot',
    target: depotKind,
    queries,
    finalizer: 'depots.test.pawl.dev/map',
    writes: ['v1/ConfigMap'],
    plan: always(join(applyMap, readToken, countOthers), reportFaults({ type: 'Ready' })),
    onDelete: removeMap,
  }),
]

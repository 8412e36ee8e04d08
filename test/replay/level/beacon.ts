// A controller in level mode whose runs are recorded. It uses all that a run can do and is used by nothing else: a change of what it does, or
// in which order, is a change of a plan that was run, and needs its histories recorded again (test/replay/README.md).

import {
  action,
  again,
  defineKind,
  defineLevel,
  done,
  flag,
  integer,
  type LevelPass,
  type ObjectMeta,
  type ObjectOf,
  parallelJoin,
  path,
  record,
  required,
  sequential,
  type StateQuery,
  stop,
  text,
} from 'pawl/kit'

const GROUP = { group: 'replay.test.pawl.dev', version: 'v1', shortNames: [], printerColumns: [] }

export const beaconKind = defineKind({
  ...GROUP,
  kind: 'Beacon',
  plural: 'beacons',
  singular: 'beacon',
  statusSubresource: true,
  description: 'For recordings.',
  workerVerbs: ['patch'],
  schema: {
    spec: required(
      record('What is wanted.', {
        message: required(text('What the ConfigMap says.')),
        lamp: text('Name of a ConfigMap that somebody else makes.'),
        bulb: flag('Whether to make a Bulb, a kind that the server may not have.'),
        rounds: integer('How many passes to make, some milliseconds apart.'),
      }),
    ),
    status: record('What is there.', {
      message: text('What the ConfigMap says.'),
      color: text('What the lamp says.'),
      rounds: integer('Passes made.'),
    }),
  },
  projection: [path('status.message')],
})

/** Installed only by the scenario that waits for it. */
export const bulbKind = defineKind({
  ...GROUP,
  kind: 'Bulb',
  plural: 'bulbs',
  singular: 'bulb',
  statusSubresource: false,
  description: 'For recordings.',
  workerVerbs: [],
  schema: { spec: record('What is wanted.', { watts: integer('Its power.') }) },
  projection: [path('spec.watts')],
})

export type Beacon = ObjectOf<typeof beaconKind>

interface Stored {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap' | 'Secret'
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}

export interface BeaconState {
  readonly configMap: Stored | undefined
  readonly lamp: Stored | undefined
  /** Its values stay out of the history. */
  readonly keys: readonly Stored[]
}

const beaconQueries = {
  configMap: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
  lamp: { kind: 'v1/ConfigMap', name: '${target.spec.lamp}' },
  keys: { kind: 'v1/Secret', many: true, labels: { beacon: '${target.metadata.name}' } },
} as const satisfies Record<keyof BeaconState, StateQuery>

type Pass = LevelPass<BeaconState, Beacon>

const applyMessage = action<Pass>('applyMessage', async ({ target, state, act, status }) => {
  const { message } = target.spec
  const data = { message, keys: String(state.keys.length) }
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: target.metadata.name }, data })
  status['message'] = message
  return done
})

const applyBulb = action<Pass>('applyBulb', async ({ target, act }) => {
  if (target.spec.bulb !== true) return done
  const { apiVersion, kind } = bulbKind
  await act.apply({ apiVersion, kind, metadata: { name: target.metadata.name }, spec: { watts: 5 } })
  return done
})

const readLamp = action<Pass>('readLamp', async (pass) => {
  const { lamp } = pass.target.spec
  if (lamp === undefined) return done
  const found = await pass.refresh('lamp')
  pass.status['color'] = found?.data?.['color'] ?? null
  return found === undefined ? stop(`waiting for ConfigMap ${lamp}`) : done
})

const countRounds = action<Pass>('countRounds', ({ target, status }) => {
  const [made, wanted] = [target.status?.rounds ?? 0, target.spec.rounds ?? 0]
  if (made >= wanted) return done
  status['rounds'] = made + 1
  return again(50)
})

const removeMessage = action<Pass>('removeMessage', async ({ state, act }) => {
  if (state.configMap === undefined) return done
  await act.remove(state.configMap)
  return stop('waiting for the ConfigMap to be gone')
})

/** For a plan with the same actions in another order (careless.ts). */
export const steps = { applyMessage, applyBulb, readLamp, countRounds }

export const beacon = {
  name: 'beacon',
  target: beaconKind,
  queries: beaconQueries,
  finalizer: 'replay.test.pawl.dev/message',
  plurals: { [`${bulbKind.apiVersion}/${bulbKind.kind}`]: bulbKind.plural },
  plan: sequential(parallelJoin(applyMessage, applyBulb), readLamp, countRounds),
  onDelete: removeMessage,
} as const

export const controllers = [defineLevel<BeaconState, Beacon>(beacon)] as const

// Controllers in level mode that use every kind of write, for tests on real servers: a controller of a namespaced kind,
// a second controller that writes a condition of the same kind, and a controller of a cluster-scoped kind.

import {
  action,
  activitiesOf,
  conditionsField,
  defineKind,
  defineLevel,
  done,
  flag,
  type JsonObject,
  type LevelPass,
  type ObjectOf,
  record,
  required,
  secretRef,
  secretText,
  sequential,
  setCondition,
  type StateQuery,
  text,
} from 'pawl/kit'
import type { ConfigMap, Secret } from 'pawl/kit/v1'

import { TEST_KIND } from './test-kind.ts'

const GROUP = { ...TEST_KIND, group: 'writes.test.pawl.dev' }

/** The namespace in which the parcel controller may write in addition to the namespace of the Parcel. */
export const SHARED = 'level-writes-shared'

export const parcelKind = defineKind({
  ...GROUP,
  kind: 'Parcel',
  plural: 'parcels',
  singular: 'parcel',
  schema: {
    spec: required(
      record('What is wanted.', {
        text: required(text('What the ConfigMap says.')),
        adopt: flag('Whether a ConfigMap that is there is taken.'),
        shared: flag('Whether one is made in another namespace.'),
        secret: text('Name of a Secret with a password.'),
      }),
    ),
    status: record('What is there.', {
      text: text('What the ConfigMap says.'),
      fingerprint: text('The SHA-256 of the password.'),
      saved: text('What the status said in the middle of a pass.'),
      conditions: conditionsField,
    }),
  },
})

export const rackKind = defineKind({
  ...GROUP,
  kind: 'Rack',
  plural: 'racks',
  singular: 'rack',
  schema: {
    spec: required(
      record('What is wanted.', {
        namespace: required(text('Where the ConfigMap is made.')),
        text: required(text('What it says.')),
      }),
    ),
    status: record('What is there.', { text: text('What the ConfigMap says.') }),
  },
})

type Parcel = ObjectOf<typeof parcelKind>
type Rack = ObjectOf<typeof rackKind>

interface ParcelState {
  readonly secret: Secret | undefined
  readonly marked: readonly JsonObject[]
}

const parcelQueries = {
  secret: { kind: 'v1/Secret', name: '${target.spec.secret}' },
  marked: { kind: 'v1/ConfigMap', many: true, namespace: '*', owned: 'label', pick: [] },
} as const satisfies Record<keyof ParcelState, StateQuery>

type Pass = LevelPass<ParcelState, Parcel>

const map = (name: string, data: Readonly<Record<string, string | null>>) =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }) as const

const applyBox = action<Pass>('applyBox', async ({ target, act, status, save }) => {
  const { text: said, adopt = false } = target.spec
  await act.apply<ConfigMap>(map(target.metadata.name, { text: said, gone: null }), { adopt })
  status.text = said
  await save()
  return done
})

const keepNote = action<Pass>('keepNote', async ({ target, act, status }) => {
  const { name } = target.metadata
  // `save` in the previous step has already written the status.
  status.saved = target.status?.text ?? null
  await act.apply<ConfigMap>(map(`${name}-note`, { text: target.spec.text }), { owner: 'none' })
  await act.create<ConfigMap>(map(`${name}-once`, { text: target.spec.text }))
  return done
})

const markOthers = action<Pass>('markOthers', async ({ target, act }) => {
  const { name } = target.metadata
  const held = map(`${name}-marked`, { text: target.spec.text })
  await act.apply<ConfigMap>(
    { ...held, metadata: { ...held.metadata, finalizers: ['writes.test.pawl.dev/held'] } },
    { owner: 'label' },
  )
  if (target.spec.shared !== true) return done
  const shared = map(name, { text: target.spec.text })
  await act.apply<ConfigMap>({ ...shared, metadata: { ...shared.metadata, namespace: SHARED } })
  return done
})

const calls = activitiesOf(() => import('./parcel.activities.ts'), { fingerprint: { timeoutMs: 5000, attempts: 1 } })

const writeURL = action<Pass>('writeURL', async ({ target, act, call, status }) => {
  const { secret } = target.spec
  if (secret === undefined) return done
  const password = secretRef(secret, 'password')
  status.fingerprint = await call(calls).fingerprint({ text: password })
  const url = secretText`postgres://app:${password}@db`
  const metadata = { name: `${target.metadata.name}-url` }
  await act.apply<Secret>({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { url } })
  return done
})

const report = action<Pass>('report', async ({ target, act, status }) => {
  const ready = { type: 'Ready', status: 'True', reason: 'Packed', message: target.spec.text } as const
  const before = target.status?.conditions?.find(({ type }) => type === 'Ready')
  if (before?.message !== ready.message)
    status.conditions = setCondition(target.status?.conditions, ready, new Date().toISOString())
  await act.event({ type: 'Normal', reason: 'Packed', message: `the parcel says ${target.spec.text}` })
  return done
})

const clearUp = action<Pass>('clearUp', async ({ state, act }) => {
  for (const object of state.marked) {
    if (object.metadata.deletionTimestamp === undefined) await act.remove(object)
    await act.release(object, 'writes.test.pawl.dev/held')
  }
  return done
})

/** Writes another condition into the same list. */
const inspect = action<LevelPass<object, Parcel>>('inspect', ({ target, status }) => {
  const inspected = { type: 'Inspected', status: 'True', reason: 'Seen', message: 'seen' } as const
  const isThere = target.status?.conditions?.some(({ type }) => type === 'Inspected') === true
  if (!isThere) status.conditions = setCondition(undefined, inspected, new Date().toISOString())
  return done
})

const fillRack = action<LevelPass<{ readonly box: ConfigMap | undefined }, Rack>>('fillRack', async (pass) => {
  const { target, act, status } = pass
  const { namespace, text: said } = target.spec
  const box = map(target.metadata.name, { text: said })
  await act.apply<ConfigMap>({ ...box, metadata: { ...box.metadata, namespace } })
  await act.event({ type: 'Normal', reason: 'Filled', message: 'the rack is full' })
  status.text = (await pass.refresh('box'))?.data?.['text'] ?? null
  return done
})

export const controllers = [
  defineLevel<ParcelState, Parcel>({
    name: 'parcel',
    target: parcelKind,
    queries: parcelQueries,
    finalizer: 'writes.test.pawl.dev/parcel',
    writes: [{ kind: 'v1/ConfigMap', namespaces: [SHARED] }, 'v1/Secret'],
    plan: sequential(applyBox, keepNote, markOthers, writeURL, report),
    onDelete: clearUp,
    activities: calls,
  }),
  defineLevel<object, Parcel>({ name: 'inspector', target: parcelKind, queries: {}, plan: inspect }),
  defineLevel<{ readonly box: ConfigMap | undefined }, Rack>({
    name: 'rack',
    target: { ...rackKind, withoutNamespace: true },
    finalizer: 'writes.test.pawl.dev/rack',
    queries: {
      box: {
        kind: 'v1/ConfigMap',
        name: '${target.metadata.name}',
        namespace: '${target.spec.namespace}',
        owned: true,
      },
    },
    plan: sequential(fillRack),
  }),
]

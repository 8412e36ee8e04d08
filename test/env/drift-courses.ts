// Generates arbitrary manifests of a few kinds, and arbitrary changes that other clients make to the live objects.

import fc from 'fast-check'

import { DRIFTER, type Fields, type Sample } from './drift-stage.ts'

export interface Course {
  readonly first: Sample
  readonly steps: readonly Step[]
}

interface Step {
  readonly edits: readonly Edit[]
  /** The next manifest; undefined if it does not change. */
  readonly next: Sample | undefined
}

/** A change somewhere in a live object. */
export interface Edit {
  readonly by: string
  readonly how: 'remove' | 'change' | 'add' | 'turn'
  /** Selects one of the places where this change is possible. */
  readonly at: number
  readonly value: unknown
}

const texts = fc.constantFrom('', '0', '1', '1000m', 'x', 'null')
const keys = fc.constantFrom('a', 'b', 'limits', 'c.d/e', 'constructor')
const textMap = fc.dictionary(keys, texts, { maxKeys: 4 })
const tagMap = fc.dictionary(fc.constantFrom('a', 'b.c/d', 'limits'), fc.constantFrom('', '1', 'x'), { maxKeys: 3 })
const metadata = fc.record({ labels: tagMap, annotations: textMap }, { requiredKeys: [] })

const json = fc.letrec<{ value: unknown; map: Fields }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('', '1', 'x', 0, 1, true, false),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.uniqueArray(fc.record({ name: fc.constantFrom('n', 'm'), v: tie('value') }), { selector: ({ name }) => name }),
    tie('map'),
  ),
  map: fc.dictionary(fc.constantFrom('a', 'b', 'limits', 'name'), tie('value'), { maxKeys: 3 }),
}))

const names = (arbitrary: fc.Arbitrary<Fields>, minLength = 0) =>
  fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength, maxLength: 3 })
    .chain((list) => fc.tuple(...list.map((name) => arbitrary.map((fields) => ({ name, ...fields })))))
const container = fc.record(
  {
    image: fc.constantFrom('example/a:1', 'example/a:2'),
    args: fc.array(texts, { maxLength: 2 }),
    env: names(fc.record({ value: texts }, { requiredKeys: [] })),
    ports: fc.uniqueArray(
      fc.record(
        { containerPort: fc.constantFrom(80, 81), protocol: fc.constantFrom('UDP', 'TCP') },
        { requiredKeys: ['containerPort'] },
      ),
      { maxLength: 2, selector: ({ containerPort, protocol = 'TCP' }) => `${containerPort}${protocol}` },
    ),
    resources: fc.constantFrom({}, { limits: { cpu: '1000m' } }, { requests: { cpu: '0.5', memory: '1Gi' } }),
    // Never an empty map, because server-side apply removes a map that becomes empty.
    securityContext: fc.constantFrom({ runAsUser: 0 }, { privileged: false }),
    imagePullPolicy: fc.constantFrom('Always', 'IfNotPresent'),
  },
  { requiredKeys: ['image'] },
)
const LABELS = { app: 'x' }
const pod = fc.record(
  {
    containers: names(container, 1),
    initContainers: names(container),
    nodeSelector: tagMap,
    tolerations: fc.constantFrom([], [{ operator: 'Exists' }], [{ key: 'a', operator: 'Exists' }]),
    volumes: names(fc.constant({ emptyDir: {} })),
    terminationGracePeriodSeconds: fc.constantFrom(0, 30, 60),
    hostNetwork: fc.boolean(),
  },
  { requiredKeys: ['containers'] },
)
const deployment = fc
  .record(
    {
      replicas: fc.constantFrom(0, 1),
      paused: fc.boolean(),
      minReadySeconds: fc.constantFrom(0, 5),
      template: fc.record({ metadata: fc.constant({ labels: LABELS }), spec: pod }),
    },
    { requiredKeys: ['template'] },
  )
  .map((spec) => ({ selector: { matchLabels: LABELS }, ...spec }))
const servicePort = fc.record(
  {
    name: fc.constantFrom('a', 'b'),
    port: fc.constantFrom(80, 81),
    protocol: fc.constantFrom('UDP', 'TCP'),
    targetPort: fc.constantFrom(0, 80, 'http'),
  },
  { requiredKeys: ['name', 'port'] },
)
const service = fc.record(
  {
    ports: fc.uniqueArray(servicePort, {
      minLength: 1,
      maxLength: 2,
      comparator: (one, other) => one.name === other.name || one.port === other.port,
    }),
    selector: tagMap,
    sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    publishNotReadyAddresses: fc.boolean(),
  },
  { requiredKeys: ['ports'] },
)

/** Manifests of one kind with arbitrary metadata and these fields. */
const manifests = (apiVersion: string, kind: string, fields: fc.Arbitrary<Fields>): fc.Arbitrary<Sample> =>
  fc.tuple(metadata, fields).map(([meta, rest]) => ({ apiVersion, kind, metadata: meta, ...rest }))

const edit: fc.Arbitrary<Edit> = fc.record({
  by: fc.constantFrom('someone', 'controller'),
  how: fc.constantFrom('remove', 'change', 'add', 'turn'),
  at: fc.nat({ max: 10_000 }),
  value: fc.constantFrom('', '1', 'x', 0, 5, true, false),
})

const course = (first: fc.Arbitrary<Sample>, next: fc.Arbitrary<Sample | undefined>): fc.Arbitrary<Course> =>
  fc.record({
    first,
    steps: fc.array(fc.record({ edits: fc.array(edit, { maxLength: 4 }), next }), { minLength: 1, maxLength: 3 }),
  })

const changing = (manifest: fc.Arbitrary<Sample>) => course(manifest, fc.option(manifest, { nil: undefined, freq: 2 }))
// The manifest does not change: when a field without a schema leaves the manifest, server-side apply also removes
// values that other clients wrote below the field, and a job does not.
const lasting = (manifest: fc.Arbitrary<Sample>) => course(manifest, fc.constant(undefined))

export const courses: Readonly<Record<string, fc.Arbitrary<Course>>> = {
  ConfigMap: changing(manifests('v1', 'ConfigMap', fc.record({ data: textMap }, { requiredKeys: [] }))),
  Drifter: lasting(manifests(DRIFTER, 'Drifter', fc.record({ spec: json.map }))),
  Deployment: changing(manifests('apps/v1', 'Deployment', fc.record({ spec: deployment }))),
  Service: changing(manifests('v1', 'Service', fc.record({ spec: service }))),
}

/** Moves list elements of other clients behind the elements of the manifest, because no client owns their position. */
export function withOthersLast(value: unknown, wanted: unknown): unknown {
  if (isMap(value)) {
    const of = isMap(wanted) ? wanted : {}
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withOthersLast(child, of[key])]))
  }
  if (!Array.isArray(value) || !value.every(isMap)) return value
  const own = Array.isArray(wanted) ? wanted.filter(isMap) : []
  const ownOf = (element: Fields) => own.find((one) => nameOf(one) === nameOf(element))
  const others = value.filter((element) => ownOf(element) === undefined)
  return [
    ...value
      .filter((element) => ownOf(element) !== undefined)
      .map((element) => withOthersLast(element, ownOf(element))),
    ...others.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)),
  ]
}

const nameOf = ({ name, containerPort, protocol = 'TCP' }: Fields) =>
  JSON.stringify(name === undefined ? [containerPort, protocol] : name)

/** Makes one change in an object, at a place where this change is possible. */
export function edited(live: Fields, { how, at, value }: Edit): Fields {
  const { apiVersion, kind, ...content } = live
  const places = placesIn(content, how)
  const place = places[at % places.length]
  const changed = place === undefined ? content : (changedAt(content, place, { how, value }) as Fields)
  return { apiVersion, kind, ...changed }
}

type Place = readonly (string | number)[]

function placesIn(value: unknown, how: Edit['how'], at: Place = []): readonly Place[] {
  const children = Array.isArray(value) ? [...value.entries()] : isMap(value) ? Object.entries(value) : []
  const below = children.flatMap(([key, child]) => placesIn(child, how, [...at, key]))
  return at.length > 0 && isPlace(value, how, at) ? [at, ...below] : below
}

function isPlace(value: unknown, how: Edit['how'], at: Place): boolean {
  switch (how) {
    case 'remove':
      // When a client removes the last owned field of an object, such as all labels of a plain object, the server keeps
      // no managedFields.
      return at.length > (at[0] === 'metadata' ? 2 : 1)
    case 'change':
      return !Array.isArray(value) && !isMap(value)
    case 'add':
      return Array.isArray(value) || isMap(value)
    case 'turn':
      return Array.isArray(value) && value.length > 1
  }
}

function changedAt(value: unknown, [key, ...rest]: Place, change: Pick<Edit, 'how' | 'value'>): unknown {
  if (key === undefined) return changedValue(value, change)
  const isGone = change.how === 'remove' && rest.length === 0
  if (Array.isArray(value)) {
    return value.flatMap((child: unknown, index) =>
      index !== key ? [child] : isGone ? [] : [changedAt(child, rest, change)],
    )
  }
  const entries = Object.entries(value as Fields).flatMap(([name, child]) =>
    name !== key ? [[name, child]] : isGone ? [] : [[name, changedAt(child, rest, change)]],
  )
  return Object.fromEntries(entries) as Fields
}

function changedValue(found: unknown, { how, value }: Pick<Edit, 'how' | 'value'>): unknown {
  if (how === 'turn') return (found as readonly unknown[]).toReversed()
  if (how === 'change') return like(found, value)
  if (isMap(found)) return { ...found, added: like(Object.values(found)[0] ?? '', value) }
  const list = found as readonly unknown[]
  const [sample = 'added'] = list
  return [...list, isMap(sample) ? { ...sample, name: 'added', port: 99, containerPort: 99 } : like(sample, value)]
}

/** A value of the same type as `found`, if there is such a value. */
function like(found: unknown, value: unknown): unknown {
  if (typeof found === 'number') return value === true ? 7 : Number(value) || 9
  if (typeof found === 'boolean') return !found
  return typeof found === 'string' ? String(value) : found
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

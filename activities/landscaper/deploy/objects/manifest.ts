// One object that an item deploys, and its options. Deployers create manifests from their configurations, and apply.ts applies them.

import { type ConfigReader, isMap, type Json } from './config-reader.ts'
import { isName } from '../target/read-object.ts'

/**
 * How a live object is changed to match its manifest. Source: spec/landscaper.md 4.2 "updateStrategy", where `replace`, which keeps no fields of other
 * managers, is called `update`.
 */
export const STRATEGIES = ['update', 'patch', 'merge', 'mergeOverwrite', 'replace'] as const
export type UpdateStrategy = (typeof STRATEGIES)[number]

/** Whether an applied object that is missing is created again. */
export const RECREATIONS = ['always', 'perJob', 'never'] as const
export type Recreation = (typeof RECREATIONS)[number]

export const POLICIES = ['manage', 'fallback', 'keep', 'ignore', 'immutable'] as const
export type Policy = (typeof POLICIES)[number]

/** One object and its options. Annotations and patches contain user content. */
export interface Manifest {
  readonly policy: Policy
  readonly object: Desired
  readonly annotateBeforeCreate: Readonly<Record<string, string>>
  readonly annotateBeforeDelete: Readonly<Record<string, string>>
  readonly patchAfterDeployment: Json | undefined
  readonly patchBeforeDelete: Json | undefined
  /** Undefined: the default of its kind (run-once.ts). */
  readonly recreate: Recreation | undefined
}

// Parses the object of a manifest: required fields, fields that are removed, and lists of objects, which become single objects.
// Source: spec/landscaper.md 4.2 "manifest entry".

/** An object to apply: with apiVersion, kind and name, and without fields that only a server writes. */
export interface Desired extends Json {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: DesiredMeta
}

interface DesiredMeta extends Json {
  readonly name: string
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** `<group>/<version>`, or `v1`; it becomes a part of paths. */
export const API_VERSION = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/)?[a-z][a-z0-9]*$/
const KIND = /^[A-Za-z][A-Za-z0-9]*$/
const LIST_KIND = /^([A-Za-z0-9]*)List$/
const DEEPEST_LIST = 5
// Fields that a dump of a live object has, and a request must not have.
const DROPPED_META = new Set([
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
])

/** The objects of an entry: one, or those of a list kind (`ConfigMapList`, `List`), also nested; each with its field. */
export function readObjects(reader: ConfigReader, value: unknown, field: string): { object: Desired; field: string }[] {
  return expanded(value, field, 0).flatMap((entry) => {
    const object = readObject(reader, entry.value, entry.field)
    return object === undefined ? [] : [{ object, field: entry.field }]
  })
}

function expanded(value: unknown, field: string, depth: number): { value: unknown; field: string }[] {
  if (!isMap(value) || depth > DEEPEST_LIST) return [{ value, field }]
  const { apiVersion, kind, items } = value
  const itemKind = typeof kind === 'string' ? LIST_KIND.exec(kind)?.[1] : undefined
  if (itemKind === undefined || !Array.isArray(items)) return [{ value, field }]
  return items.flatMap((item: unknown, index) => {
    // Servers omit the kind of the items of a typed list.
    const isBare = isMap(item) && item['kind'] === undefined && item['apiVersion'] === undefined && itemKind !== ''
    const whole = isBare ? { apiVersion, kind: itemKind, ...item } : item
    return expanded(whole, `${field}.items[${index}]`, depth + 1)
  })
}

function readObject(reader: ConfigReader, value: unknown, field: string): Desired | undefined {
  if (!isMap(value)) {
    reader.wrong(field, value ?? undefined, 'an object')
    return undefined
  }
  const apiVersion = reader.required(value['apiVersion'], `${field}.apiVersion`)
  const kind = reader.required(value['kind'], `${field}.kind`)
  if (apiVersion !== undefined && !API_VERSION.test(apiVersion)) {
    reader.wrong(`${field}.apiVersion`, apiVersion, '<group>/<version> or v1')
    return undefined
  }
  if (kind !== undefined && !KIND.test(kind)) {
    reader.wrong(`${field}.kind`, kind, 'a kind')
    return undefined
  }
  const metadata = readMeta(reader, value['metadata'], `${field}.metadata`)
  if (apiVersion === undefined || kind === undefined || metadata === undefined) return undefined
  return withPlainData({ ...value, apiVersion, kind, metadata })
}

function readMeta(reader: ConfigReader, value: unknown, field: string): DesiredMeta | undefined {
  if (!isMap(value)) {
    reader.wrong(field, value ?? undefined, 'a map with a name')
    return undefined
  }
  if (typeof value['generateName'] === 'string' && (value['name'] ?? '') === '') {
    const expected = `${field}.name, because Pawl finds the object by its name`
    reader.wrong(`${field}.generateName`, undefined, expected, 'a value')
    return undefined
  }
  const name = reader.required(value['name'], `${field}.name`)
  if (name !== undefined && !isName(name)) {
    reader.wrong(`${field}.name`, name, 'the name of an object')
    return undefined
  }
  const namespace = readNamespace(reader, value['namespace'], `${field}.namespace`)
  const labels = reader.textMap(value['labels'], `${field}.labels`)
  const annotations = reader.textMap(value['annotations'], `${field}.annotations`)
  if (name === undefined) return undefined
  const rest = Object.fromEntries(
    Object.entries(value).filter(([key, entry]) => !DROPPED_META.has(key) && entry !== null),
  )
  return { ...rest, name, ...(namespace !== undefined && { namespace }), labels, annotations }
}

function readNamespace(reader: ConfigReader, value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const namespace = reader.required(value, field)
  if (namespace === undefined || isName(namespace)) return namespace
  reader.wrong(field, namespace, 'the name of a namespace')
  return undefined
}

// A server never returns `stringData`; converted to `data`, it can be compared with the live object.
function withPlainData(object: Desired): Desired {
  const { stringData, data } = object
  if (object.apiVersion !== 'v1' || object.kind !== 'Secret' || !isMap(stringData)) return object
  const texts = Object.entries(stringData).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  if (texts.length !== Object.keys(stringData).length) return object
  const encoded = texts.map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  const whole = { ...(isMap(data) ? data : {}), ...(Object.fromEntries(encoded) as Json) }
  return { ...object, stringData: undefined, data: whole }
}

// Projections: the allow-listed paths of an object that the journal may store. Pure; journal, routes and generated
// state types use these functions, so that a path means the same everywhere.
//
//   J1. A projection contains only declared paths, the identifying metadata, and index keys (index-keys.ts); never managedFields or resourceVersion.
//   J2. Keys are sorted by name, so that equal contents have equal text.
//   J3. An absent path leaves nothing in the projection: no undefined value and no empty parent.

import { writeJson } from './exact-json.ts'
import { isFields } from './json-fields.ts'

/** The projected part of a Kubernetes object, in the object's structure. */
export type Projection = Readonly<Record<string, unknown>>

/** The keys from an object's root to a value; a list, because labels and annotations contain dots. */
export type Path = readonly string[]

/**
 * A hashed path: all fields except those that the server maintains (versions, managed fields). For kinds whose objects only need change detection.
 */
export const CONTENT: Path = []

type Json = Readonly<Record<string, unknown>>

/** `path('status.jobID')`: a path whose keys contain no dots. */
export function path(dotted: string): Path {
  return dotted.split('.')
}

/** The path of an annotation. */
export function annotation(key: string): Path {
  return ['metadata', 'annotations', key]
}

/** The path of a label. */
export function label(key: string): Path {
  return ['metadata', 'labels', key]
}

/** The value at a path; undefined when it is absent. Does not descend into arrays. */
export function valueAt(object: object, at: Path): unknown {
  return at.reduce<unknown>(
    (value, key) => (isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    object,
  )
}

/** The text at a path; undefined when it is absent or not a text. */
export function textAt(object: object, at: Path): string | undefined {
  const value = valueAt(object, at)
  return typeof value === 'string' ? value : undefined
}

/** The projection of an object: the given paths and its identity (J1-J3). Source: docs/concepts/architecture.md "Journal". */
export function projectObject(object: object, paths: readonly Path[]): Projection {
  const projection: Record<string, unknown> = {}
  for (const at of [...IDENTITY, ...paths]) {
    const value = valueAt(object, at)
    if (value !== undefined) put(projection, at, value)
  }
  const controller = controllerOf(object)
  if (controller !== undefined) put(projection, ['metadata', 'ownerReferences'], [controller])
  return sortKeys(projection) as Projection
}

/** The input of the keyed content hash; undefined when the object lacks all of the paths. */
export function hashedContent(object: object, paths: readonly Path[]): string | undefined {
  const values = paths.map((at) => (at.length === 0 ? contentOf(object) : (valueAt(object, at) ?? null)))
  return values.every((value) => value === null) ? undefined : canonicalJson(values)
}

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return writeJson(sortKeys(value))
}

const IDENTITY: readonly Path[] = ['name', 'namespace', 'uid', 'generation', 'deletionTimestamp', 'finalizers'].map(
  (key) => ['metadata', key],
)
const KEPT_BY_SERVER: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields', 'generation', 'selfLink'])
const REFERENCE_KEYS = ['apiVersion', 'controller', 'kind', 'name', 'uid'] as const

function contentOf(object: object): Json {
  const metadata = valueAt(object, ['metadata'])
  if (!isFields(metadata)) return { ...object }
  return {
    ...object,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => !KEPT_BY_SERVER.has(key))),
  }
}

function controllerOf(object: object): Json | undefined {
  const references = valueAt(object, ['metadata', 'ownerReferences'])
  if (!Array.isArray(references)) return undefined
  const controller = references.filter(isFields).find((reference) => reference['controller'] === true)
  return controller && Object.fromEntries(REFERENCE_KEYS.map((key) => [key, controller[key]]))
}

function put(into: Record<string, unknown>, at: Path, value: unknown): void {
  const [key, ...rest] = at
  if (key === undefined) return
  if (rest.length === 0) {
    into[key] = value
    return
  }
  const existing = into[key]
  // A copy, because a shorter path may have put the object's own value here.
  const child: Record<string, unknown> = isFields(existing) ? { ...existing } : {}
  into[key] = child
  put(child, rest, value)
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isFields(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]))
}

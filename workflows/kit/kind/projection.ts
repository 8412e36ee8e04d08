// What of an object may leave it: allow-listed paths, read and projected. Pure; the journal, the routes and the
// generated state types all use these functions, so they agree on what a path means.
//
//   J1. A projection holds only declared paths, the identifying metadata, and what objects are selected by (traits.ts); never managedFields, never resourceVersion.
//   J2. Keys come in the order of their names, so equal objects give equal text.
//   J3. A path that an object does not have leaves no trace: no undefined, no empty parent.

import { writeJson } from './exact-json.ts'

/** An allow-listed part of a Kubernetes object, in the object's own shape. */
export type Projection = Readonly<Record<string, unknown>>

/** The keys from an object's root to a value. Labels and annotations have dots in their keys, hence no dotted text. */
export type Path = readonly string[]

/**
 * As a hashed path: all that somebody could have meant to change, without what the server keeps for itself (versions, managed fields).
 * For kinds of which nothing is to be told apart but whether they changed.
 */
export const CONTENT: Path = []

type Json = Readonly<Record<string, unknown>>

/** `path('status.jobID')`: a path whose keys have no dots. */
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

/** The value at a path; undefined where the object ends earlier. Never descends into arrays. */
export function valueAt(object: object, at: Path): unknown {
  return at.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    object,
  )
}

/** The text at a path; undefined when nothing or something else is there. */
export function textAt(object: object, at: Path): string | undefined {
  const value = valueAt(object, at)
  return typeof value === 'string' ? value : undefined
}

/** What may be remembered of an object: the given paths and its identity (J1-J3). Source: docs/architecture.md "Journal". */
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

/** The text over which the keyed content hash is taken; undefined when the object has none of the paths. */
export function hashedContent(object: object, paths: readonly Path[]): string | undefined {
  const values = paths.map((at) => (at.length === 0 ? contentOf(object) : (valueAt(object, at) ?? null)))
  return values.every((value) => value === null) ? undefined : canonicalJson(values)
}

/** JSON with its keys in order: equal values give equal text. */
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
  if (!isRecord(metadata)) return { ...object }
  return {
    ...object,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => !KEPT_BY_SERVER.has(key))),
  }
}

function controllerOf(object: object): Json | undefined {
  const references = valueAt(object, ['metadata', 'ownerReferences'])
  if (!Array.isArray(references)) return undefined
  const controller = references.filter(isRecord).find((reference) => reference['controller'] === true)
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
  const child: Record<string, unknown> = isRecord(existing) ? { ...existing } : {}
  into[key] = child
  put(child, rest, value)
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isRecord(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]))
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

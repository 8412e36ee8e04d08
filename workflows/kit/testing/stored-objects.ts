// Objects as an API server would have stored them, from what matters to a test.

import type { ObjectMeta } from '../kind/kind.ts'

/** An object with what a test cares about: of its metadata what it names, the rest is made up. */
export type Unstored<Object> = {
  readonly [Field in keyof Object as Exclude<Field, 'metadata'>]: Object[Field]
} & { readonly metadata?: Partial<ObjectMeta> }

/** When made-up objects were made. */
export const CREATED = '2026-01-01T00:00:00Z'

/** The object with whole metadata: name `one`, namespace `default`, uid `uid-<name>`, first version, made at the beginning of 2026. */
export function stored<Object extends { readonly metadata: object }>(object: Unstored<Object>): Object {
  // Nothing but metadata can be missing, by its type.
  return { ...object, metadata: metadataOf(object.metadata ?? {}) } as unknown as Object
}

/** Whole metadata. */
export function metadataOf(given: Partial<ObjectMeta>): ObjectMeta {
  const { name = 'one' } = given
  const version = { resourceVersion: '1', generation: 1, creationTimestamp: CREATED }
  return { name, namespace: 'default', uid: `uid-${name}`, ...version, ...given }
}

/** The namespace of a target; empty for one that is in none, which has no such field. */
export function namespaceOf({ metadata }: { readonly metadata: Partial<ObjectMeta> }): string {
  return metadata.namespace ?? ''
}

// Objects as an API server stores them, from the fields that a test needs.

import type { ObjectMeta } from '../kind/kind.ts'

/** An object with partial metadata; the rest gets defaults. */
export type Unstored<Object> = {
  readonly [Field in keyof Object as Exclude<Field, 'metadata'>]: Object[Field]
} & { readonly metadata?: Partial<ObjectMeta> }

/** The creationTimestamp of such objects. */
export const CREATED = '2026-01-01T00:00:00Z'

/** Adds missing metadata: name `one`, namespace `default`, uid `uid-<name>`, first version, created at the beginning of 2026. */
export function stored<Object extends { readonly metadata: object }>(object: Unstored<Object>): Object {
  // By its type only metadata can be missing.
  return { ...object, metadata: metadataOf(object.metadata ?? {}) } as unknown as Object
}

/** Complete metadata. */
export function metadataOf(given: Partial<ObjectMeta>): ObjectMeta {
  const { name = 'one' } = given
  const version = { resourceVersion: '1', generation: 1, creationTimestamp: CREATED }
  return { name, namespace: 'default', uid: `uid-${name}`, ...version, ...given }
}

/** The target's namespace; empty for cluster-scoped kinds, which have no such field. */
export function namespaceOf({ metadata }: { readonly metadata: Partial<ObjectMeta> }): string {
  return metadata.namespace ?? ''
}

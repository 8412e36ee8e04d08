// Types of Kubernetes' own kinds as stored objects in JSON. They derive from the official client's types; only types
// are imported, because its code cannot run in the sandbox.
//
//   K1. Timestamps are texts (RFC 3339) instead of Date, because states are JSON.
//   K2. A stored object has apiVersion, kind and metadata with a name; the client's types make them optional.
//   K3. All fields are read-only, because states are observations.

import type { ObjectMeta } from './kind.ts'
import type { JsonValue } from './schema.ts'

/** The JSON form of a client type (K1, K3). */
export type AsJson<Type> = unknown extends Type
  ? JsonValue
  : Type extends Date
    ? string
    : Type extends readonly (infer Item)[]
      ? readonly AsJson<Item>[]
      : Type extends object
        ? { readonly [Key in keyof Type]: AsJson<Type[Key]> }
        : Type

interface Identity {
  apiVersion?: string
  kind?: string
  metadata?: object
}

/** An object of a namespaced kind (K2). */
export type StoredObject<Type extends Identity, ApiVersion extends string, Name extends string> = {
  readonly apiVersion: ApiVersion
  readonly kind: Name
  readonly metadata: ObjectMeta
} & AsJson<Omit<Type, keyof Identity>>

/** An object of a cluster-scoped kind (K2). */
export type StoredClusterObject<Type extends Identity, ApiVersion extends string, Name extends string> = Omit<
  StoredObject<Type, ApiVersion, Name>,
  'metadata'
> & { readonly metadata: Omit<ObjectMeta, 'namespace'> }

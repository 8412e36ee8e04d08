// The types of Kubernetes' own kinds as controllers see their objects: what the API server has stored, read as JSON. They derive from
// the official client's types, of which nothing but types is imported: its code cannot run in the sandbox.
//
//   K1. Points in time are texts (RFC 3339), where the client says Date: states come as JSON.
//   K2. What is stored has an apiVersion, a kind and metadata with a name; the client's types leave them open.
//   K3. Nothing can be assigned: states are what was observed.

import type { ObjectMeta } from './kind.ts'
import type { JsonValue } from './schema.ts'

/** A type of the client as JSON has it (K1, K3). */
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

/** An object of a kind that lives in namespaces (K2). */
export type StoredObject<Type extends Identity, ApiVersion extends string, Name extends string> = {
  readonly apiVersion: ApiVersion
  readonly kind: Name
  readonly metadata: ObjectMeta
} & AsJson<Omit<Type, keyof Identity>>

/** An object of a kind of the whole cluster (K2). */
export type StoredClusterObject<Type extends Identity, ApiVersion extends string, Name extends string> = Omit<
  StoredObject<Type, ApiVersion, Name>,
  'metadata'
> & { readonly metadata: Omit<ObjectMeta, 'namespace'> }

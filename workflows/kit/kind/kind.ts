// Defines a kind once. CRD, RBAC, TypeScript type, journal projection and the bridge's watch list derive from this value.
// It holds no behaviour and reads nothing: a controller's routes, plan and actions live beside it in the kind's folder.

import type { Path } from './projection.ts'
import { type Fields, type JsonSchema, type ObjectValueOf, objectSchema } from './schema.ts'

export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** As in CRDs: `.status.phase`. */
  readonly jsonPath: string
  /** Above 0 the column is shown by `kubectl get -o wide` only. */
  readonly priority?: number
}

/** What the worker does to objects of a kind, beside reading them. */
export type WorkerVerb = 'create' | 'update' | 'patch' | 'delete'

export interface KindDefinition<Name extends string, F extends Fields> {
  readonly group: string
  readonly version: string
  readonly kind: Name
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  /** Whether status is an endpoint of its own. */
  readonly statusSubresource: boolean
  readonly printerColumns: readonly PrinterColumn[]
  /** What the kind is for, in a sentence: the CRD's description. */
  readonly description: string
  /** The top-level fields beside apiVersion, kind and metadata: spec and status, or what the wire format has instead. */
  readonly schema: F
  /** Paths that may enter the journal, beside the identity that every projection has. */
  readonly projection: readonly Path[]
  /** Paths whose content is remembered as one keyed hash only. */
  readonly hashed?: readonly Path[]
  /** Fields beyond metadata by which clients may select: each text, number or flag, in no list. */
  readonly selectableFields?: readonly Path[]
  /** Verbs beyond get, list and watch that the worker's role needs; its status, where there is one, follows `patch`. */
  readonly workerVerbs: readonly WorkerVerb[]
}

export interface Kind<Name extends string = string, F extends Fields = Fields> extends KindDefinition<Name, F> {
  /** `group/version`, as in manifests. */
  readonly apiVersion: string
  readonly hashed: readonly Path[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** Metadata of an object that the API server has stored. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

/** The TypeScript type of a kind's objects: `ObjectOf<typeof executionKind>`. */
export type ObjectOf<K> =
  K extends Kind<infer Name, infer F>
    ? { readonly apiVersion: string; readonly kind: Name; readonly metadata: ObjectMeta } & ObjectValueOf<F>
    : never

/**
 * Defines a kind. The definition is checked when its module loads, so a mistake fails every test at once.
 *
 * @throws a plain Error (a bug) when a projected, hashed or selectable path names a field that the schema does not have.
 */
export function defineKind<const Name extends string, F extends Fields>(
  definition: KindDefinition<Name, F>,
): Kind<Name, F> {
  const hashed = definition.hashed ?? []
  const schema = objectSchema(definition.schema)
  const used = [...definition.projection, ...hashed].map((at) => ['projects', at] as const)
  const selected = (definition.selectableFields ?? []).map((at) => ['selects by', at] as const)
  for (const [verb, at] of [...used, ...selected]) {
    if (!isDeclared(schema, at)) {
      throw new Error(`kind ${definition.kind} ${verb} ${at.join('.')}; expected a path of its schema or its metadata`)
    }
  }
  return { ...definition, apiVersion: `${definition.group}/${definition.version}`, hashed }
}

/** The schema of whole objects of a kind, as a CRD has it. */
export function openApiSchema({ description, schema }: Kind): JsonSchema {
  const { properties, required } = objectSchema(schema)
  return {
    description,
    type: 'object',
    properties: { ...ENVELOPE, ...properties },
    ...(required === undefined ? {} : { required }),
  }
}

const ENVELOPE: Readonly<Record<string, JsonSchema>> = {
  apiVersion: { description: 'Group and version of this representation of the object.', type: 'string' },
  kind: { description: 'The kind of this object.', type: 'string' },
  metadata: { type: 'object' },
}

function isDeclared(schema: JsonSchema, at: Path): boolean {
  const [key, ...rest] = at
  if (key === undefined) return true
  if (key === 'metadata') return rest.length > 0
  const child = schema.properties?.[key]
  if (child === undefined) return false
  return rest.length === 0 || (child.properties !== undefined && isDeclared(child, rest))
}

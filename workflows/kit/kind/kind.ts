// `defineKind`: the only definition of a kind. CRD, RBAC, TypeScript type, journal projection and the bridge's watches derive from it. It contains no
// behaviour; routes, plan and actions of a controller are in the kind's folder.

import { type DescribedVersion, type KindVersion, type PrinterColumn, versionProblems } from './versions.ts'
import type { Path } from './projection.ts'
import { type Fields, type JsonSchema, objectSchema, type ObjectValueOf, type ValidationRule } from './schema.ts'
import { schemaProblems } from './schema-problems.ts'

/** The worker's verbs on objects of a kind. */
export type WorkerVerb = 'get' | 'list' | 'create' | 'patch' | 'delete'

/** Namespaced or cluster-scoped. */
export type Scope = 'Namespaced' | 'Cluster'

/** The input of `defineKind`. */
export interface KindDefinition<Name extends string, F extends Fields, S extends Scope = Scope> {
  readonly group: string
  readonly version: string
  readonly kind: Name
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  /** Whether the kind has a status subresource. */
  readonly statusSubresource: boolean
  readonly printerColumns: readonly PrinterColumn[]
  /** The CRD's description, one sentence. */
  readonly description: string
  /** The top-level fields except apiVersion, kind and metadata: usually spec and status. */
  readonly schema: F
  /** Paths that the journal stores, in addition to the identity of every projection. */
  readonly projection: readonly Path[]
  /** Paths that the journal stores as one keyed hash only. */
  readonly hashed?: readonly Path[]
  /** The names that an object exports to and imports from other objects of its namespace; undefined: none. The journal finds dependencies by them. */
  readonly flow?: (object: object) => Flow | undefined
  /** Selectable fields beyond metadata: texts, numbers or booleans outside of lists. */
  readonly selectableFields?: readonly Path[]
  /** The worker role's verbs, in addition to those that controllers in level mode declare; `patch` includes the status subresource. */
  readonly workerVerbs: readonly WorkerVerb[]
  /** Default `Namespaced`. */
  readonly scope?: S
  /** Versions besides `version`. Objects are stored in `version` unless another version sets `storage`. */
  readonly versions?: readonly KindVersion[]
  /** CEL rules about the whole object; of metadata they can read the name only. */
  readonly rules?: readonly ValidationRule[]
}

/** The result of `defineKind`. */
export interface Kind<
  Name extends string = string,
  F extends Fields = Fields,
  S extends Scope = Scope,
> extends KindDefinition<Name, F, S> {
  /** `group/version`, as in manifests. */
  readonly apiVersion: string
  readonly hashed: readonly Path[]
  /** Only for cluster-scoped kinds. */
  readonly withoutNamespace?: boolean
}

/** A reference to an owner in the metadata of an object. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** Metadata of a stored object. */
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
  K extends Kind<infer Name, infer F, infer S>
    ? { readonly apiVersion: string; readonly kind: Name; readonly metadata: MetaOf<S> } & ObjectValueOf<F>
    : never

type MetaOf<S extends Scope> = S extends 'Cluster' ? Omit<ObjectMeta, 'namespace'> : ObjectMeta

/**
 * Defines a kind and checks the definition when its module loads, so that a mistake fails every test.
 *
 * @throws a plain Error (a bug) with the kind and the field: a projected, hashed or selectable path outside of the schema, contradicting limits and
 * defaults, versions that would lose fields.
 */
export function defineKind<const Name extends string, F extends Fields, const S extends Scope = 'Namespaced'>(
  definition: KindDefinition<Name, F, S>,
): Kind<Name, F, S> {
  const { kind, group, version, scope, hashed = [] } = definition
  checkPaths(definition)
  const described = versionsOf(definition)
  const problems = [
    ...described.flatMap(({ schema }) => schemaProblems(schema, '')).map((problem) => problem.replace(/^\./, '')),
    ...versionProblems(described).map((problem) => `it ${problem}`),
  ]
  const [first] = problems
  if (first !== undefined) throw new Error(`kind ${kind}: ${first.trim()}`)
  const place = scope === 'Cluster' ? { withoutNamespace: true } : {}
  return { ...definition, apiVersion: `${group}/${version}`, hashed, ...place }
}

function checkPaths({
  kind,
  schema,
  projection,
  hashed = [],
  selectableFields = [],
}: KindDefinition<string, Fields>): void {
  const fields = objectSchema(schema)
  const used = [...projection, ...hashed].map((at) => ['projects', at] as const)
  const selected = selectableFields.map((at) => ['selects by', at] as const)
  for (const [verb, at] of [...used, ...selected]) {
    if (!isDeclared(fields, at))
      throw new Error(`kind ${kind} ${verb} ${at.join('.')}; expected a path of its schema or of metadata`)
  }
}

/** All versions of a kind, its own first. */
export function versionsOf(
  kind: KindDefinition<string, Fields>,
): readonly (DescribedVersion & Omit<KindVersion, 'schema'>)[] {
  const { version, schema, versions = [], printerColumns, description, rules } = kind
  const own = { version, schema, printerColumns, storage: versions.every(({ storage = false }) => !storage) }
  return [own, ...versions].map((one: KindVersion) => ({
    printerColumns,
    served: true,
    storage: false,
    ...one,
    schema: openApiSchema({ description, schema: one.schema ?? schema, ...(rules && { rules }) }),
  }))
}

/** The schema of whole objects, as in a CRD. */
export function openApiSchema({
  description,
  schema,
  rules,
}: Pick<Kind, 'description' | 'schema' | 'rules'>): JsonSchema {
  const { properties, required } = objectSchema(schema)
  return {
    description,
    type: 'object',
    properties: { ...ENVELOPE, ...properties },
    ...(required === undefined ? {} : { required }),
    ...(rules === undefined ? {} : { 'x-kubernetes-validations': rules }),
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

/** Exported and imported names of an object; an importer depends on the exporters in its namespace. */
export interface Flow {
  readonly gives: readonly string[]
  readonly takes: readonly string[]
}

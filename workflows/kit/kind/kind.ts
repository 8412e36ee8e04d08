// Defines a kind once. CRD, RBAC, TypeScript type, journal projection and the bridge's watch list derive from this value.
// It holds no behaviour and reads nothing: a controller's routes, plan and actions live beside it in the kind's folder.

import type { Flow } from './flow.ts'
import type { PrinterColumn } from './printer-column.ts'
import type { Path } from './projection.ts'
import { type Fields, type JsonSchema, type ObjectValueOf, objectSchema, type ValidationRule } from './schema.ts'
import { schemaProblems } from './schema-problems.ts'
import { type DescribedVersion, type KindVersion, versionProblems } from './versions.ts'

/** What the worker may do to objects of a kind. */
export type WorkerVerb = 'get' | 'list' | 'create' | 'patch' | 'delete'

/** Whether objects are in namespaces, or of the whole cluster. */
export type Scope = 'Namespaced' | 'Cluster'

export interface KindDefinition<Name extends string, F extends Fields, S extends Scope = Scope> {
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
  /** What its objects hand to each other, by names that are meant within a namespace; undefined: nothing. The journal finds them by these. */
  readonly flow?: (object: object) => Flow | undefined
  /** Fields beyond metadata by which clients may select: each text, number or flag, in no list. */
  readonly selectableFields?: readonly Path[]
  /** What the worker's role needs beyond what controllers in level mode declare; the status, where there is one, follows `patch`. */
  readonly workerVerbs: readonly WorkerVerb[]
  /** Default `Namespaced`. */
  readonly scope?: S
  /** Versions beside `version`, which is served, and in which objects are stored unless another one says so. */
  readonly versions?: readonly KindVersion[]
  /** Rules about the whole object; of its metadata they see the name. */
  readonly rules?: readonly ValidationRule[]
}

export interface Kind<
  Name extends string = string,
  F extends Fields = Fields,
  S extends Scope = Scope,
> extends KindDefinition<Name, F, S> {
  /** `group/version`, as in manifests. */
  readonly apiVersion: string
  readonly hashed: readonly Path[]
  /** Of kinds of the whole cluster. */
  readonly withoutNamespace?: boolean
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
  K extends Kind<infer Name, infer F, infer S>
    ? { readonly apiVersion: string; readonly kind: Name; readonly metadata: MetaOf<S> } & ObjectValueOf<F>
    : never

type MetaOf<S extends Scope> = S extends 'Cluster' ? Omit<ObjectMeta, 'namespace'> : ObjectMeta

/**
 * Defines a kind. The definition is checked when its module loads, so a mistake fails every test at once.
 *
 * @throws a plain Error (a bug) that names the kind and the field: a projected, hashed or selectable path that the schema does not have, limits
 * and defaults that contradict each other, versions of which one would lose what another has.
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
      throw new Error(`kind ${kind} ${verb} ${at.join('.')}; expected a path of its schema or its metadata`)
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

/** The schema of whole objects of a kind, as a CRD has it. */
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

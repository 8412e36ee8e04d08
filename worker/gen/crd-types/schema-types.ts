// Converts the structural OpenAPI v3 schema of a CRD to types. Value validations (pattern, minimum, oneOf, CEL rules) do not change a type. Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
//
//   S1. An object with fields becomes an interface with the name of its path: `<Kind>SpecTemplate`. Items of a list and values of a map have the name of
//       the field.
//   S2. A wrong schema is reported and becomes `unknown`, so that one run reports all problems of the file.

import { writeJson, isFields } from '../../../workflows/kit/index.ts'
import type { Declaration, Docs, Member, TypeExpression } from './declarations.ts'
import { named, nullable, NUMBER_OR_TEXT, pascalCase, type TypeNames, UNKNOWN } from './declarations.ts'
import { found, type Path, type Report } from './problems.ts'

/** The results: names, declarations and problems. */
export interface SchemaReader {
  readonly names: TypeNames
  readonly declarations: Declaration[]
  readonly report: Report
}

/** A place in a schema, with the name and the comment of an interface at this place. */
interface Place {
  readonly path: Path
  readonly name: string
  readonly docs: Docs
}

type Schema = Readonly<Record<string, unknown>>

const TEXTS: ReadonlySet<unknown> = new Set(['string', 'number', 'boolean'])
const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
}
const TYPES = [...Object.keys(SCALARS), 'array', 'object']
// Deeper than any schema that the API server accepts. A recursive YAML anchor exceeds it.
const DEEPEST = 200

/** The fields of an object as members of the interface `parent`. */
export function membersOf(reader: SchemaReader, schema: Schema, path: Path, parent: string): Member[] {
  const properties = fieldsOf(reader, schema['properties'], [...path, 'properties'])
  const required = requiredOf(reader, schema['required'], [...path, 'required'])
  const declared = Object.entries(properties).map(([name, child]): Member => {
    const place = { path: [...path, 'properties', name], name: parent + pascalCase(name), docs: {} }
    return { name, isOptional: !required.has(name), type: typeOf(reader, child, place), docs: docsOf(child) }
  })
  const undeclared = [...required].filter((name) => !Object.hasOwn(properties, name))
  return [...declared, ...undeclared.map((name) => ({ name, isOptional: false, type: UNKNOWN, docs: {} }))]
}

/** The comment of a field. */
export function docsOf(schema: unknown): Docs {
  if (!isFields(schema)) return {}
  const { description } = schema
  return {
    description: typeof description === 'string' ? description : undefined,
    defaultValue: schema['default'] === undefined ? undefined : writeJson(schema['default']),
  }
}

function typeOf(reader: SchemaReader, schema: unknown, place: Place): TypeExpression {
  if (!isFields(schema)) return reportUnknown(reader, place.path, `${found(schema)}; expected a schema`)
  if (place.path.length > DEEPEST) {
    return reportUnknown(reader, place.path, `found a schema of ${DEEPEST} levels; expected fewer levels`)
  }
  if (schema['$ref'] !== undefined) {
    return reportUnknown(reader, [...place.path, '$ref'], `${found(schema['$ref'])}; expected the schema itself`)
  }
  const type = plainTypeOf(reader, schema, place)
  const hasNull = Array.isArray(schema['enum']) && schema['enum'].includes(null)
  return schema['nullable'] === true || hasNull ? nullable(type) : type
}

function plainTypeOf(reader: SchemaReader, schema: Schema, place: Place): TypeExpression {
  const { type, enum: values } = schema
  if (schema['x-kubernetes-int-or-string'] === true) return NUMBER_OR_TEXT
  const scalar = typeof type === 'string' && Object.hasOwn(SCALARS, type) ? SCALARS[type] : undefined
  if (scalar !== undefined) return values === undefined ? named(scalar) : valuesOf(reader, values, scalar, place)
  if (type === 'array') return listOf(reader, schema, place)
  if (type === 'object') return objectOf(reader, schema, place)
  if (type === undefined && isOpen(schema)) return hasFields(schema) ? objectOf(reader, schema, place) : UNKNOWN
  const expected = `expected ${type === undefined ? 'a type: ' : ''}one of ${TYPES.join(', ')}`
  return reportUnknown(reader, [...place.path, 'type'], `${found(type)}; ${expected}`)
}

function valuesOf(reader: SchemaReader, values: unknown, scalar: string, { path, name, docs }: Place): TypeExpression {
  const at = [...path, 'enum']
  if (!Array.isArray(values)) return reportUnknown(reader, at, `${found(values)}; expected a list of values`)
  values.forEach((value: unknown, index) => {
    if (value === null || typeof value === scalar) return
    reader.report([...at, index], `${found(value)}; expected a ${scalar}, because of the type`)
  })
  const known = [...new Set(values)].filter((value) => TEXTS.has(typeof value)) as (string | number | boolean)[]
  if (known.length === 0) return reportUnknown(reader, at, 'found an empty list; expected at least one value')
  const taken = reader.names.take(name)
  reader.declarations.push({ is: 'values', name: taken, docs, values: known })
  return named(taken)
}

function listOf(reader: SchemaReader, { items }: Schema, { path, name }: Place): TypeExpression {
  return { is: 'list', of: typeOf(reader, items, { path: [...path, 'items'], name, docs: onlyDescription(items) }) }
}

function objectOf(reader: SchemaReader, schema: Schema, place: Place): TypeExpression {
  const { additionalProperties: values } = schema
  const at = [...place.path, 'additionalProperties']
  if (values !== undefined && hasFields(schema)) {
    return reportUnknown(reader, at, 'found additionalProperties and properties; expected one of them')
  }
  if (schema['x-kubernetes-embedded-resource'] === true) return embeddedOf(reader, schema, place)
  if (hasFields(schema)) return interfaceOf(reader, schema, place)
  if (values === true || (values === undefined && isOpen(schema))) return { is: 'map', of: UNKNOWN }
  // The API server prunes all fields of the object.
  if (values === undefined || values === false) return { is: 'map', of: named('never') }
  return { is: 'map', of: typeOf(reader, values, { path: at, name: place.name, docs: onlyDescription(values) }) }
}

function interfaceOf(
  reader: SchemaReader,
  schema: Schema,
  { path, name, docs }: Place,
  first: readonly Member[] = [],
): TypeExpression {
  const taken = reader.names.take(name)
  const members = [...first]
  // An interface is declared before the interfaces of its fields.
  reader.declarations.push({ is: 'interface', name: taken, docs, members, isOpen: isOpen(schema) })
  const own = membersOf(reader, schema, path, taken)
  members.push(...own.filter((member) => !first.some((one) => one.name === member.name)))
  return named(taken)
}

function embeddedOf(reader: SchemaReader, schema: Schema, place: Place): TypeExpression {
  const text = { isOptional: false, type: named('string'), docs: {} }
  const metadata: Member = { name: 'metadata', isOptional: true, type: { is: 'map', of: UNKNOWN }, docs: {} }
  return interfaceOf(reader, schema, place, [{ name: 'apiVersion', ...text }, { name: 'kind', ...text }, metadata])
}

function fieldsOf(reader: SchemaReader, properties: unknown, path: Path): Schema {
  if (isFields(properties)) return properties
  if (properties !== undefined) reader.report(path, `${found(properties)}; expected an object of schemas`)
  return {}
}

function requiredOf(reader: SchemaReader, required: unknown, path: Path): ReadonlySet<string> {
  if (required === undefined) return new Set()
  if (Array.isArray(required) && required.every((name) => typeof name === 'string')) return new Set(required)
  reader.report(path, `${found(required)}; expected a list of names`)
  return new Set()
}

// The type of items or values has their description; the field has its own comment.
function onlyDescription(schema: unknown): Docs {
  return { description: docsOf(schema).description }
}

function hasFields({ properties }: Schema): boolean {
  return properties !== undefined && !(isFields(properties) && Object.keys(properties).length === 0)
}

/** Whether the API server keeps undeclared fields. */
export function isOpen(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

function reportUnknown({ report }: SchemaReader, path: Path, message: string): TypeExpression {
  report(path, message)
  return UNKNOWN
}

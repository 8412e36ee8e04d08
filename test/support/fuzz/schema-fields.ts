// Lists the fields of a kind's schema with their paths, and builds objects with a given value at a path and only
// required fields besides it.

import type { JsonSchema, JsonValue } from '../../../workflows/kit/index.ts'

/** Names of fields; `[]` is the first item of a list, `*` the value of the only key of a map. */
export type FieldPath = readonly string[]

export interface SchemaField {
  readonly at: FieldPath
  readonly schema: JsonSchema
  /** The schema of the accepted values. If the field is one of several alternatives, an empty string is invalid. */
  readonly taken: JsonSchema
  /** Whether the schema of the parent requires the field. */
  readonly isRequired: boolean
}

export type JsonObject = Readonly<Record<string, JsonValue>>

/** The only key of the maps that `withValue` creates. */
const MAP_KEY = 'key'

/** Every field at or below a schema, parents first. */
export function fieldsOf(schema: JsonSchema, at: FieldPath = []): readonly SchemaField[] {
  const { properties = {}, required = [], items, additionalProperties } = schema
  const sources = sourcesOf(schema)
  const field = (name: string, child: JsonSchema, taken = child): readonly SchemaField[] => {
    const path = [...at, name]
    return [{ at: path, schema: child, taken, isRequired: required.includes(name) }, ...fieldsOf(child, path)]
  }
  return [
    ...Object.entries(properties).flatMap(([name, child]) =>
      field(name, child, sources.includes(name) ? asSource(child) : child),
    ),
    ...(items === undefined ? [] : field('[]', items)),
    ...(additionalProperties === undefined ? [] : field('*', additionalProperties)),
  ]
}

/** The names of alternative fields: exactly one, or at most one, has a value. */
export function sourcesOf(schema: JsonSchema): readonly string[] {
  const rules = schema['x-kubernetes-validations'] ?? []
  return rules.flatMap(
    ({ message }) => /^expected (?:exactly|at most) one of (.+)$/.exec(message)?.[1]?.split(', ') ?? [],
  )
}

/** The schema of an alternative field that has a value: a string must not be empty. */
export function asSource(schema: JsonSchema): JsonSchema {
  return schema.type === 'string' ? { ...schema, minLength: 1 } : schema
}

/** Formats a path like the API server: `spec.imports.data[0].name`. */
export function pathText(at: FieldPath): string {
  return at
    .map((name) => (name === '[]' ? '[0]' : `.${name === '*' ? MAP_KEY : name}`))
    .join('')
    .replace(/^\./, '')
}

/** The smallest value of a schema: required fields, and the first of alternative fields. */
export function leanValue(schema: JsonSchema): JsonValue {
  if (schema['x-kubernetes-embedded-resource'] === true) return { apiVersion: 'v1', kind: 'Lean' }
  return schema.type === undefined ? {} : LEAN[schema.type](schema)
}

const LEAN: Readonly<Record<NonNullable<JsonSchema['type']>, (schema: JsonSchema) => JsonValue>> = {
  array: () => [],
  object: (schema) => {
    const { properties = {}, required = [] } = schema
    const names = [...required, ...sourcesOf(schema).slice(0, 1)]
    return Object.fromEntries(names.map((name) => [name, leanValue(properties[name] ?? {})]))
  },
  boolean: () => false,
  integer: () => 0,
  number: () => 0,
  string: leanText,
}

function leanText({ format }: JsonSchema): string {
  if (format === 'date-time') return '2020-01-01T00:00:00Z'
  return format === 'byte' ? 'AA==' : 'x'
}

/** `base` with the value at the path. Creates missing parents with their smallest values. */
export function withValue(schema: JsonSchema, base: JsonValue | undefined, at: FieldPath, value: JsonValue): JsonValue {
  const [name, ...rest] = at
  if (name === undefined) return value
  if (name === '[]') {
    const [first, ...others] = Array.isArray(base) ? (base as readonly JsonValue[]) : []
    return [withValue(schema.items ?? {}, first, rest, value), ...others]
  }
  const known = isObject(base) ? base : (leanValue(schema) as JsonObject)
  const key = name === '*' ? (Object.keys(known)[0] ?? MAP_KEY) : name
  const child = (name === '*' ? schema.additionalProperties : schema.properties?.[name]) ?? {}
  const others = beside(schema, known, key, { rest, value })
  return Object.fromEntries([
    ...Object.entries(others),
    [key, withValue(child, Object.hasOwn(known, key) ? known[key] : undefined, rest, value)],
  ])
}

/** The other fields of the object, without alternatives of the field. If the value is null, adds one alternative. */
function beside(
  schema: JsonSchema,
  known: JsonObject,
  key: string,
  { rest, value }: { readonly rest: FieldPath; readonly value: JsonValue },
): JsonObject {
  const sources = sourcesOf(schema)
  const excluded = sources.includes(key) ? sources : [key]
  const others = Object.fromEntries(Object.entries(known).filter(([other]) => !excluded.includes(other)))
  const other = excluded.find((name) => name !== key)
  if (rest.length > 0 || value !== null || other === undefined) return others
  return { ...others, [other]: known[other] ?? leanValue(schema.properties?.[other] ?? {}) }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

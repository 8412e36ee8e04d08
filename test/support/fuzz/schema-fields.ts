// The fields of a kind's schema, each by its path, and objects that have a certain value there and else as little as the schema asks for.

import type { JsonSchema, JsonValue } from '../../../workflows/kit/index.ts'

/** Names of fields; `[]` is the first item of a list, `*` the value of a map's only key. */
export type FieldPath = readonly string[]

export interface SchemaField {
  readonly at: FieldPath
  readonly schema: JsonSchema
}

export type JsonObject = Readonly<Record<string, JsonValue>>

/** The key under which a map has its value in `withValue`. */
export const MAP_KEY = 'key'

/** Every field at or below a schema, parents first. */
export function fieldsOf(schema: JsonSchema, at: FieldPath = []): readonly SchemaField[] {
  const { properties = {}, items, additionalProperties } = schema
  return [
    ...(at.length === 0 ? [] : [{ at, schema }]),
    ...Object.entries(properties).flatMap(([name, child]) => fieldsOf(child, [...at, name])),
    ...(items === undefined ? [] : fieldsOf(items, [...at, '[]'])),
    ...(additionalProperties === undefined ? [] : fieldsOf(additionalProperties, [...at, '*'])),
  ]
}

/** As the API server writes it: `spec.imports.data[0].name`. */
export function pathText(at: FieldPath): string {
  return at
    .map((name) => (name === '[]' ? '[0]' : `.${name === '*' ? MAP_KEY : name}`))
    .join('')
    .replace(/^\./, '')
}

/** The smallest value of a schema: what is required, and nothing else. */
export function leanValue(schema: JsonSchema): JsonValue {
  if (schema['x-kubernetes-embedded-resource'] === true) return { apiVersion: 'v1', kind: 'Lean' }
  return schema.type === undefined ? {} : LEAN[schema.type](schema)
}

const leanNumber = ({ minimum, maximum }: JsonSchema) => minimum ?? Math.min(0, maximum ?? 0)

const LEAN: Readonly<Record<NonNullable<JsonSchema['type']>, (schema: JsonSchema) => JsonValue>> = {
  array: ({ items = {}, minItems = 0 }) => Array.from({ length: minItems }, () => leanValue(items)),
  object: ({ properties = {}, required = [] }) =>
    Object.fromEntries(required.map((name) => [name, leanValue(properties[name] ?? {})])),
  boolean: () => false,
  integer: leanNumber,
  number: leanNumber,
  string: leanText,
}

function leanText({ enum: values, format, minLength = 0 }: JsonSchema): string {
  if (values !== undefined) return values[0] ?? ''
  if (format === 'date-time') return '2020-01-01T00:00:00Z'
  return format === 'byte' ? 'AA==' : 'x'.repeat(Math.max(1, minLength))
}

/** `base` with the value at the path; what is missing on the way there is as small as the schema lets it be. */
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
  const entries = Object.entries(known).filter(([other]) => other !== key)
  return Object.fromEntries([
    ...entries,
    [key, withValue(child, Object.hasOwn(known, key) ? known[key] : undefined, rest, value)],
  ])
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

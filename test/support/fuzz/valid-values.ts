// Generates values that a schema accepts, including unusual ones. Covers the keywords of the schemas of the default wings, and CEL rules only for
// alternative fields.

import fc from 'fast-check'

import type { JsonSchema, JsonValue } from '../../../workflows/kit/index.ts'
import { asSource, sourcesOf } from './schema-fields.ts'
import { mapOf, strangeJson, strangeText } from './strange.ts'

export interface Reader {
  /** True: also values that only the API server accepts: lists for strings with a format, null for optional fields. */
  readonly isServer: boolean
}

/** Any value that the schema accepts. */
export function validValue(schema: JsonSchema, reader: Reader = { isServer: false }): fc.Arbitrary<JsonValue> {
  if (schema['x-kubernetes-embedded-resource'] === true) return embedded
  return schema.type === undefined ? strangeJson : VALUES[schema.type](schema, reader)
}

/**
 * Any value that the schema accepts in a required field: not null, because the API server removes fields that are null, and then the field is missing.
 */
export function requiredValue(schema: JsonSchema, reader?: Reader): fc.Arbitrary<JsonValue> {
  return validValue(schema, reader).filter((value) => value !== null)
}

type Values = (schema: JsonSchema, reader: Reader) => fc.Arbitrary<JsonValue>

const VALUES: Readonly<Record<NonNullable<JsonSchema['type']>, Values>> = {
  array: ({ items = {} }, reader) => fc.array(validValue(items, reader), { maxLength: 3 }),
  object: objectOf,
  boolean: () => fc.boolean(),
  integer: integerOf,
  number: () => fc.double({ min: -1e9, max: 1e9, noNaN: true }).map((found) => (Object.is(found, -0) ? 0 : found)),
  string: (schema, { isServer }) =>
    isServer && schema.format !== undefined ? fc.oneof(textOf(schema), SLIPS) : textOf(schema),
}

// Source: tests with k8s.io/kube-openapi v1.34. For a string with a format, its validation accepts lists of any items.
const SLIPS = fc.constantFrom<JsonValue[]>([], ['x'], [null], [{}])
const NOTHING = { weight: 1, arbitrary: fc.constant(null) }

// Without `metadata`, because the API server validates the metadata of embedded objects.
const embedded = fc
  .tuple(mapOf(strangeJson), fc.constantFrom('v1', 'example.org/v1'), fc.constantFrom('Strange', 'constructor'))
  .map(([more, apiVersion, kind]): JsonValue => {
    const entries = Object.entries(more).filter(([name]) => name !== 'metadata')
    return Object.fromEntries([...entries, ['apiVersion', apiVersion], ['kind', kind]])
  })

function objectOf(schema: JsonSchema, reader: Reader): fc.Arbitrary<JsonValue> {
  const { additionalProperties } = schema
  if (additionalProperties !== undefined) return mapOf(validValue(additionalProperties, reader))
  const sources = sourcesOf(schema)
  return sources.length === 0
    ? withFields(schema, reader)
    : fc.oneof(...sources.map((one) => withSource(schema, one, reader)))
}

/** Values in which the alternative field `source` is set. */
function withSource(schema: JsonSchema, source: string, reader: Reader): fc.Arbitrary<JsonValue> {
  const sources = sourcesOf(schema)
  const { properties = {}, required = [] } = schema
  const fitting = Object.entries(properties).filter(([name]) => name === source || !sources.includes(name))
  const chosen = fitting.map(([name, child]) => [name, name === source ? asSource(child) : child])
  return withFields(
    {
      properties: Object.fromEntries(chosen) as NonNullable<JsonSchema['properties']>,
      required: [...required, source],
    },
    reader,
  )
}

function withFields({ properties = {}, required = [] }: JsonSchema, reader: Reader): fc.Arbitrary<JsonValue> {
  const values = Object.fromEntries(
    Object.entries(properties).map(([name, child]): [string, fc.Arbitrary<JsonValue>] => {
      if (required.includes(name)) return [name, requiredValue(child, reader)]
      const value = validValue(child, reader)
      return [name, reader.isServer ? fc.oneof({ weight: 9, arbitrary: value }, NOTHING) : value]
    }),
  )
  return fc.record(values, { requiredKeys: [...required], noNullPrototype: true })
}

const BOUNDS = { int32: [-(2 ** 31), 2 ** 31 - 1], int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] } as const

function integerOf({ format }: JsonSchema): fc.Arbitrary<number> {
  const [min, max] = BOUNDS[format === 'int64' ? 'int64' : 'int32']
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }))
}

function textOf({ format, minLength = 0 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const range = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }
    return fc.date(range).map((found) => found.toISOString())
  }
  // The API server rejects an empty string as base64.
  if (format === 'byte')
    return fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  return strangeText.filter((found) => found.length >= minLength)
}

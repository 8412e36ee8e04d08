// Generates values that a schema does not accept, each with the path of the error.

import fc from 'fast-check'

import type { JsonSchema, JsonValue } from '../../../workflows/kit/index.ts'
import { type FieldPath, leanValue, type JsonObject } from './schema-fields.ts'

export interface Invalid {
  readonly value: JsonValue
  /** The path of the error within the value: `[]` if the whole value is invalid. */
  readonly below: FieldPath
  readonly why: string
}

/** The API server prunes unknown fields without strict validation. */
export const UNKNOWN_FIELD = 'has a field that is unknown'

const SAMPLES: Readonly<Record<NonNullable<JsonSchema['type']>, readonly JsonValue[]>> = {
  string: ['text', ''],
  integer: [0, 7],
  number: [1.5],
  boolean: [true, false],
  array: [[], ['x'], [null]],
  object: [{}, JSON.parse('{"__proto__": {"x": 1}}') as JsonValue],
}

/**
 * Undefined if the schema accepts every value.
 *
 * @param isInStatus the API server does not validate `apiVersion` and `kind` of embedded resources in the status.
 */
export function invalidValue(schema: JsonSchema, isInStatus = false): fc.Arbitrary<Invalid> | undefined {
  const members = isInStatus && schema['x-kubernetes-embedded-resource'] === true ? [] : wrongMembers(schema)
  const all = [...wrongTypes(schema), ...outOfBounds(schema), ...members]
  return all.length === 0 ? undefined : fc.constantFrom(...all)
}

function wrongTypes({ type, format, 'x-kubernetes-int-or-string': isEither }: JsonSchema): readonly Invalid[] {
  if (type === undefined && isEither === undefined) return []
  // The API server accepts lists for strings that have a format (valid-values.ts).
  const fitting: readonly string[] = [
    ...(type === undefined ? ['integer', 'string'] : [type]),
    ...(type === 'number' ? ['integer'] : []),
    ...(format === undefined ? [] : ['array']),
  ]
  const others = Object.entries(SAMPLES).flatMap(([name, values]) => (fitting.includes(name) ? [] : values))
  // The samples do not contain null, because null in an optional field means that the field is absent.
  return others.map((value) => ({ value, below: [], why: `is not of type ${type ?? 'integer or string'}` }))
}

function outOfBounds(schema: JsonSchema): readonly Invalid[] {
  const found = [...wrongTexts(schema), ...wrongLengths(schema), ...wrongNumbers(schema)]
  return found.map(([value, why]) => ({ value, below: [], why }))
}

type Wrong = readonly (readonly [value: JsonValue, why: string])[]

function wrongTexts({ enum: values, format, pattern }: JsonSchema): Wrong {
  const of = (why: string, ...texts: readonly string[]): Wrong => texts.map((text) => [text, why])
  return [
    ...(values === undefined ? [] : of('is not in the list', 'other', `${values[0] ?? ''} `, '__proto__')),
    ...(format === 'date-time' ? of('is no point in time', 'soon', '2020-01-01', '2020-13-01T00:00:00Z', '12') : []),
    ...(format === 'byte' ? of('is no base64', '%%', 'a', 'ä=') : []),
    ...(pattern === undefined || new RegExp(pattern).test('\u0000') ? [] : of('does not match', '\u0000')),
  ]
}

function wrongLengths({ minLength = 0, maxLength, minItems = 0, maxItems, items = {} }: JsonSchema): Wrong {
  const list = (length: number) => Array.from({ length }, () => leanValue(items))
  return [
    ...(minLength > 0 ? [['x'.repeat(minLength - 1), 'is too short'] as const] : []),
    ...(maxLength === undefined ? [] : [['x'.repeat(maxLength + 1), 'is too long'] as const]),
    ...(minItems > 0 ? [[list(minItems - 1), 'has too few items'] as const] : []),
    ...(maxItems === undefined ? [] : [[list(maxItems + 1), 'has too many items'] as const]),
  ]
}

function wrongNumbers({ minimum, maximum }: JsonSchema): Wrong {
  return [
    ...(minimum === undefined ? [] : [[minimum - 1, 'is too small'] as const]),
    ...(maximum === undefined ? [] : [[maximum + 1, 'is too large'] as const]),
  ]
}

/** Values with an error one level below. `fieldsOf` returns deeper levels as their own fields. */
function wrongMembers(schema: JsonSchema): readonly Invalid[] {
  if (schema['x-kubernetes-embedded-resource'] === true) return wrongIdentities
  if (schema.type === 'array') {
    if (schema.items?.type === undefined) return []
    return [{ value: [null], below: ['[]'], why: 'has null in its list' }]
  }
  if (schema.type !== 'object' || schema.additionalProperties !== undefined) return []
  const lean = leanValue(schema) as JsonObject
  const lacking = (schema.required ?? []).map((name) => ({
    value: Object.fromEntries(Object.entries(lean).filter(([other]) => other !== name)),
    below: [name],
    why: 'lacks what is required',
  }))
  const empty = (schema.required ?? [])
    .filter((name) => schema.properties?.[name]?.type !== undefined)
    .map((name) => ({ value: { ...lean, [name]: null }, below: [name], why: 'has null for what is required' }))
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  const unknown = (isOpen ? [] : ['unknown', 'constructor', '__proto__']).map((name) => ({
    value: Object.fromEntries([...Object.entries(lean), [name, 1]]),
    below: [name],
    why: UNKNOWN_FIELD,
  }))
  return [...lacking, ...empty, ...unknown]
}

const wrongIdentities: readonly Invalid[] = [
  { value: { apiVersion: 'v1' }, below: ['kind'], why: 'lacks its kind' },
  { value: { kind: 'X' }, below: ['apiVersion'], why: 'lacks its version' },
  { value: { apiVersion: 'v1', kind: 5 }, below: ['kind'], why: 'has a number for its kind' },
]

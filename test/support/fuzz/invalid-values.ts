// Generates values that a schema does not accept, each with the path of the error. Covers the keywords of the schemas of
// the default wings.

import fc from 'fast-check'

import type { JsonSchema, JsonValue } from '../../../workflows/kit/index.ts'
import { type FieldPath, leanValue, type JsonObject } from './schema-fields.ts'

export interface Invalid {
  readonly value: JsonValue
  /** The path of the error within the value: `[]` if the whole value is invalid. */
  readonly below: FieldPath
  readonly why: string
}

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
  const all = [...wrongTypes(schema), ...wrongTexts(schema), ...members]
  return all.length === 0 ? undefined : fc.constantFrom(...all)
}

function wrongTypes({ type, format }: JsonSchema): readonly Invalid[] {
  if (type === undefined) return []
  // The API server accepts lists for strings that have a format (valid-values.ts).
  const fitting: readonly string[] = [type, ...(format === undefined ? [] : ['array'])]
  const others = Object.entries(SAMPLES).flatMap(([name, values]) => (fitting.includes(name) ? [] : values))
  // The samples do not contain null, because null in an optional field means that the field is absent.
  return others.map((value) => ({ value, below: [], why: `is not of type ${type}` }))
}

function wrongTexts({ format }: JsonSchema): readonly Invalid[] {
  const of = (why: string, ...texts: readonly string[]) => texts.map((value) => ({ value, below: [], why }))
  if (format === 'date-time') return of('is no point in time', 'soon', '2020-01-01', '2020-13-01T00:00:00Z', '12')
  return format === 'byte' ? of('is no base64', '%%', 'a', 'ä=') : []
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
    why: 'has a field that is unknown',
  }))
  return [...lacking, ...empty, ...unknown]
}

const wrongIdentities: readonly Invalid[] = [
  { value: { apiVersion: 'v1' }, below: ['kind'], why: 'lacks its kind' },
  { value: { kind: 'X' }, below: ['apiVersion'], why: 'lacks its version' },
  { value: { apiVersion: 'v1', kind: 5 }, below: ['kind'], why: 'has a number for its kind' },
]

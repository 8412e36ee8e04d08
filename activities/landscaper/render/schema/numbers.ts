// Exact comparisons of numbers in JSON schemas. Ajv computes with doubles, so it would accept or reject integers beyond 2^53 by a rounded value.
//
//   N1. Ajv gets a copy of schema and value with doubles. Each container of the copy refers to its original, which has the exact numbers (exact-json.ts).
//   N2. The keywords that compare numbers use the originals. They are only replaced for questions that contain an integer beyond 2^53.

import { isDeepStrictEqual } from 'node:util'

import type { Ajv, SchemaValidateFunction } from 'ajv'

type Exact = number | bigint

/** Originals of the containers of a copy (N1). */
export type Originals = WeakMap<object, object>

/** Copies a JSON value with doubles in place of bigints. @throws RangeError if it is nested too deeply. */
export function withDoubles(value: unknown, originals: Originals): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  const copy = Array.isArray(value)
    ? value.map((element) => withDoubles(element, originals))
    : Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withDoubles(field, originals)]))
  originals.set(copy, value)
  return copy
}

/** Whether a JSON value contains a bigint. */
export function hasBigint(value: unknown): boolean {
  const open = [value]
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next === 'bigint') return true
    if (typeof next === 'object' && next !== null) open.push(...(Object.values(next) as unknown[]))
  }
  return false
}

interface Comparison {
  readonly holds: (data: Exact, limit: Exact) => boolean
  readonly message: (limit: Exact) => string
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  maximum: { holds: (data, limit) => data <= limit, message: (limit) => `must be <= ${limit}` },
  minimum: { holds: (data, limit) => data >= limit, message: (limit) => `must be >= ${limit}` },
  exclusiveMaximum: { holds: (data, limit) => data < limit, message: (limit) => `must be < ${limit}` },
  exclusiveMinimum: { holds: (data, limit) => data > limit, message: (limit) => `must be > ${limit}` },
  multipleOf: { holds: isMultiple, message: (limit) => `must be multiple of ${limit}` },
}

function isMultiple(data: Exact, factor: Exact): boolean {
  const isWhole = [data, factor].every((one) => typeof one === 'bigint' || Number.isInteger(one))
  return isWhole ? BigInt(data) % BigInt(factor) === 0n : Number.isInteger(Number(data) / Number(factor))
}

/** Replaces the keywords that compare numbers (N2). @param root returns the original of the value that is checked. */
export function compareExactly(ajv: Ajv, originals: Originals, root: () => unknown): void {
  const define = (
    keyword: string,
    check: (data: unknown, expected: unknown) => { message: string; params: object } | undefined,
  ) => {
    const validate: SchemaValidateFunction = (schema: unknown, data: unknown, parentSchema, context) => {
      const expected = originalOf(originals, parentSchema, keyword) ?? schema
      const parent: unknown = context?.parentData
      const exact = isContainer(parent) ? originalOf(originals, parent, context?.parentDataProperty ?? '') : root()
      const problem = check(exact ?? data, expected)
      validate.errors = problem === undefined ? [] : [{ keyword, ...problem }]
      return problem === undefined
    }
    ajv.removeKeyword(keyword)
    ajv.addKeyword({ keyword, validate })
  }
  for (const [keyword, { holds, message }] of Object.entries(COMPARISONS))
    define(keyword, (data, limit) =>
      !isExact(data) || !isExact(limit) || holds(data, limit)
        ? undefined
        : { message: message(limit), params: { limit } },
    )
  define('const', (data, allowedValue) =>
    isDeepStrictEqual(data, allowedValue)
      ? undefined
      : { message: 'must be equal to constant', params: { allowedValue } },
  )
  define('enum', (data, allowedValues) =>
    Array.isArray(allowedValues) && allowedValues.some((one) => isDeepStrictEqual(data, one))
      ? undefined
      : { message: 'must be equal to one of the allowed values', params: { allowedValues } },
  )
}

function isExact(value: unknown): value is Exact {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function originalOf(originals: Originals, container: object | undefined, key: string | number): unknown {
  const original = container && originals.get(container)
  return original === undefined ? undefined : (original as Readonly<Record<string, unknown>>)[key]
}

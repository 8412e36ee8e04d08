// Helpers with which rules read unvalidated input and describe its problems, in addition to those of the kit.

import { hasField as has, type JsonFields, type Problem, writeJson } from '../kit/index.ts'

export { fieldsOf, hasField as has, type JsonFields, listOf, textOf } from '../kit/index.ts'

const MAX_VALUE_LENGTH = 80

/** Parses JSON from an untrusted source; undefined if it is invalid. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the field has a value; an empty text counts as no value. */
export function hasValue(fields: JsonFields, name: string): boolean {
  return has(fields, name) && fields[name] !== ''
}

/** A value as messages show it. */
export function formatValue(value: unknown): string {
  const text = value === undefined ? 'nothing' : writeJson(value)
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`
}

/** The problems of optional integers. */
export function rangeProblems(
  fields: JsonFields,
  at: string,
  ranges: Readonly<Record<string, readonly [least: number, most: number]>>,
): readonly Problem[] {
  return Object.entries(ranges).flatMap(([name, [least, most]]) => {
    const value = fields[name]
    if (!has(fields, name)) return []
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return []
    const expected =
      most === Infinity ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`
    return [{ field: `${at}.${name}`, found: formatValue(value), expected }]
  })
}

/** The problems of optional texts that must be one of the given values if they are not empty. */
export function choiceProblems(
  fields: JsonFields,
  at: string,
  choices: Readonly<Record<string, readonly string[]>>,
): readonly Problem[] {
  return Object.entries(choices).flatMap(([name, values]) => {
    const value = fields[name]
    if (!hasValue(fields, name) || values.some((one) => one === value)) return []
    return [{ field: `${at}.${name}`, found: formatValue(value), expected: `one of ${values.join(', ')}` }]
  })
}

// Reads what users wrote, of which nothing is known: what is absent or of another type reads as empty. For rules, which must not throw.

import type { Problem } from '../kit/index.ts'

export type JsonFields = Readonly<Record<string, unknown>>

const LONGEST_SHOWN = 80

export function fieldsOf(value: unknown): JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonFields) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Whether the field has a value; null is none. */
export function has(fields: JsonFields, name: string): boolean {
  return fields[name] !== undefined && fields[name] !== null
}

/** Whether the field says something: an empty text is nothing. */
export function says(fields: JsonFields, name: string): boolean {
  return has(fields, name) && fields[name] !== ''
}

/** A value as people are shown it. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`
}

/** What is wrong with a number that may be absent. */
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
    return [{ field: `${at}.${name}`, found: shown(value), expected }]
  })
}

/** What is wrong with a text that may be absent or empty, and otherwise is one of these. */
export function choiceProblems(
  fields: JsonFields,
  at: string,
  choices: Readonly<Record<string, readonly string[]>>,
): readonly Problem[] {
  return Object.entries(choices).flatMap(([name, values]) => {
    const value = fields[name]
    if (!says(fields, name) || values.some((one) => one === value)) return []
    return [{ field: `${at}.${name}`, found: shown(value), expected: `one of ${values.join(', ')}` }]
  })
}

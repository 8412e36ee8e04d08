// What rules read of what users wrote, beside what the kit reads, and what is wrong with it.

import { hasField as has, type JsonFields, type Problem, writeJson } from '../kit/index.ts'

export { fieldsOf, hasField as has, type JsonFields, listOf, textOf } from '../kit/index.ts'

const LONGEST_SHOWN = 80

/** What a text of anybody's is in JSON; undefined: it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the field says something: an empty text is nothing. */
export function says(fields: JsonFields, name: string): boolean {
  return has(fields, name) && fields[name] !== ''
}

/** A value as people are shown it. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : writeJson(value)
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

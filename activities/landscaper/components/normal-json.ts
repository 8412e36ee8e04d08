// The two JSON encodings of normal forms: equal values have equal texts. Pure.

import { writeJson } from '../../../workflows/kit/index.ts'
import { BlueprintError } from '../render/render-errors.ts'
import { isFields } from '../render/field-reader.ts'

/** Labels may be nested without limit, but the stack is finite. */
const MAX_LEVELS = 500
/** Go escapes these characters in addition to those of the JSON standard. */
const ESCAPED = /[<>&\u2028\u2029]/g

/** Encodes according to RFC 8785. @throws BlueprintError for values that are nested too deeply. */
export function canonicalText(value: unknown, level = 0): string {
  if (Array.isArray(value)) return `[${value.map((one) => canonicalText(one, deeper(level))).join(',')}]`
  if (!isFields(value)) return writeJson(value ?? null)
  // An object with sorted keys would not work: JavaScript orders keys such as "10" numerically.
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${writeJson(name)}:${canonicalText(value[name], deeper(level))}`).join(',')}}`
}

/**
 * Encodes a map as a list of maps with one entry each. Source: OCM v0.11.0, signing/norm/entry, written by Go's encoding/json. @throws as
 * `canonicalText`.
 */
export function entriesText(value: unknown, level = 0): string {
  if (Array.isArray(value)) return `[${value.map((one) => entriesText(one, deeper(level))).join(',')}]`
  if (!isFields(value)) return textOf(value)
  const names = Object.keys(value).sort(byBytes)
  return `[${names.map((name) => `{${textOf(name)}:${entriesText(value[name], deeper(level))}}`).join(',')}]`
}

function deeper(level: number): number {
  if (level < MAX_LEVELS) return level + 1
  throw new BlueprintError(
    'ERR_CONFIGURATION_PROBLEM',
    `labels of a component: nested deeper than ${MAX_LEVELS} levels`,
  )
}

// In the order of UTF-8, which is the order of code points; UTF-16 differs only with surrogates.
function byBytes(left: string, right: string): number {
  if (/[\ud800-\udfff]/.test(left + right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

function textOf(value: unknown): string {
  const text = writeJson(value ?? null)
  if (text.search(ESCAPED) === -1) return text
  return text.replace(ESCAPED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

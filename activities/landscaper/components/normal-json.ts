// JSON in the two ways in which normal forms are written: equal values give equal text. Pure.

import { isFields } from '../render/field-reader.ts'

/** What Go escapes beside what JSON must. */
const ESCAPED = /[<>&\u2028\u2029]/g

/** As RFC 8785 has it. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (!isFields(value)) return JSON.stringify(value ?? null)
  // Not by way of an object in that order: one has keys such as "10" in an order of its own.
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`).join(',')}}`
}

/** A map as a list of maps with one entry each. Source: OCM v0.11.0, signing/norm/entry, written by Go's encoding/json. */
export function entriesText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(entriesText).join(',')}]`
  if (!isFields(value)) return textOf(value)
  const names = Object.keys(value).sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
  return `[${names.map((name) => `{${textOf(name)}:${entriesText(value[name])}}`).join(',')}]`
}

function textOf(value: unknown): string {
  const escape = (found: string) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value ?? null).replace(ESCAPED, escape)
}

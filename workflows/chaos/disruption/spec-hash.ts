// Compares specs of Disruptions. Source: spec/chaos.md 1.8, seeds/chaos-controller.txt injection phase, step 2.
//
// H1. The order of keys and the spelling of durations do not matter.
// H2. With dynamic targeting the count may change and is not compared. With static targeting all fields are compared.

import { contentHash } from '../../kit/index.ts'
import { normalizeGoDuration } from '../go-duration.ts'
import { fieldsOf, has, type JsonFields } from '../json-fields.ts'

const DURATIONS: readonly (readonly string[])[] = [
  ['duration'],
  ['triggers', 'inject', 'offset'],
  ['triggers', 'createPods', 'offset'],
  ['pulse', 'activeDuration'],
  ['pulse', 'dormantDuration'],
  ['pulse', 'initialDelay'],
  ['memoryPressure', 'rampDuration'],
]

/** The hash of a spec, for `status.specHash`. */
export function specHash(spec: unknown): string {
  return contentHash(comparedFields(spec))
}

/** The names of the spec fields that differ although they must not change, sorted. */
export function changedFields(before: unknown, after: unknown): readonly string[] {
  // The previous spec decides whether the count may change.
  const isStatic = isStaticIn(before)
  const [old, now] = [comparedFields(before, isStatic), comparedFields(after, isStatic)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort()
  return names.filter((name) => contentHash(old[name]) !== contentHash(now[name]))
}

function isStaticIn(value: unknown): boolean {
  return fieldsOf(value)['staticTargeting'] === true
}

function comparedFields(value: unknown, isStatic = isStaticIn(value)): JsonFields {
  const spec = DURATIONS.reduce(withNormalDuration, fieldsOf(value))
  if (isStatic) return spec
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name !== 'count'))
}

function withNormalDuration(fields: JsonFields, [name = '', ...below]: readonly string[]): JsonFields {
  if (!has(fields, name)) return fields
  const value = fields[name]
  if (below.length > 0) return { ...fields, [name]: withNormalDuration(fieldsOf(value), below) }
  return { ...fields, [name]: normalizeGoDuration(value) ?? value }
}

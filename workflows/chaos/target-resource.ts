// The spec fields that crons and rollouts share: the target resource whose pods their Disruptions disturb. Wire format:
// spec/chaos.md 2.12, 2.13.

import { oneOf, type Problem, record, required, text, type ValueOf } from '../kit/index.ts'
import { durationField, EXPECTED_DURATION, parseGoDuration } from './go-duration.ts'
import { fieldsOf, type JsonFields, hasValue, formatValue, textOf } from './json-fields.ts'

const KINDS = ['deployment', 'statefulset'] as const

export const targetResourceField = record('The resource whose pods are disturbed.', {
  kind: required(oneOf('Its kind.', KINDS)),
  name: required(text('The name of the resource, in the same namespace.', { minLength: 1, maxLength: 253 })),
})

export const toleranceField = durationField("How late a Disruption may be made; default: the operators'.")

export type TargetResource = ValueOf<typeof targetResourceField>

/** API version and kind of the target: `apps/v1/Deployment`. */
export function targetKindOf({ kind }: TargetResource): 'apps/v1/Deployment' | 'apps/v1/StatefulSet' {
  return kind === 'deployment' ? 'apps/v1/Deployment' : 'apps/v1/StatefulSet'
}

export function targetResourceProblems(value: unknown, at: string): readonly Problem[] {
  const { kind, name } = fieldsOf(value)
  return [
    ...(KINDS.some((one) => one === kind)
      ? []
      : [{ field: `${at}.kind`, found: formatValue(kind), expected: KINDS.join(' or ') }]),
    ...(textOf(name) === ''
      ? [{ field: `${at}.name`, found: formatValue(name), expected: 'the name of an object' }]
      : []),
  ]
}

/** @param fields the fields with `delayedStartTolerance`. */
export function toleranceProblems(fields: JsonFields, at: string): readonly Problem[] {
  if (!hasValue(fields, 'delayedStartTolerance')) return []
  const value = fields['delayedStartTolerance']
  const ns = parseGoDuration(value)
  if (ns !== undefined && ns >= 0n) return []
  const expected = ns === undefined ? EXPECTED_DURATION : 'a duration of 0 or more'
  return [{ field: `${at}.delayedStartTolerance`, found: formatValue(value), expected }]
}

/**
 * The child's name is a prefix and the parent's name, and becomes a label of chaos pods. @param longest the maximum
 * length of the parent's name.
 */
export function parentNameProblems(metadata: unknown, longest: number): readonly Problem[] {
  const name = textOf(fieldsOf(metadata)['name'])
  if (name.length <= longest) return []
  return [{ field: 'metadata.name', found: `${name.length} characters`, expected: `at most ${longest}` }]
}

// Admission rules for Installations. Rules that need other objects, such as the blueprint's imports, are checked when a job starts.
// Source: spec/landscaper.md 5.3.
//
//   I1. Rules about the name apply to creations only, because the name of an existing object cannot change.

import type { Admission, Problem } from '../../kit/index.ts'
import { PAUSED_ANNOTATION } from '../contract.ts'
import { cronProblem } from '../cron.ts'
import { shownName } from '../item-rules.ts'
import { fieldsOf, type JsonFields, textOf } from '../json-fields.ts'
import { operationRules, OPERATIONS } from '../operation-warnings.ts'
import { steeredByMutations } from '../steered-by.ts'
import { installationKind } from './kind.ts'
import { exportProblems, importProblems, sourceProblems } from './rules/spec-problems.ts'

// 63 characters of a label's value, less `Inst.` before the name, less the five characters that the server appends to a generated name.
const NAME_LIMIT = 58
const GENERATED_LIMIT = 53
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

export const installationAdmission: Admission = {
  kind: installationKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object, operation }) {
    const { metadata, spec } = fieldsOf(object)
    const fields = fieldsOf(spec)
    return [
      ...(operation === 'CREATE' ? nameProblems(fieldsOf(metadata)) : []),
      ...sourceProblems(fields),
      ...importProblems(fieldsOf(fields['imports'])),
      ...exportProblems(fieldsOf(fields['exports'])),
      ...cronProblems(fieldsOf(fields['automaticReconcile'])),
    ]
  },
  asyncRules: () => import('../../../activities/landscaper/further-rules.ts'),
  metadata: operationRules(OPERATIONS.installation),
  mutations: steeredByMutations([PAUSED_ANNOTATION]),
}

function nameProblems(metadata: JsonFields): readonly Problem[] {
  const { name, generateName } = { name: textOf(metadata['name']), generateName: textOf(metadata['generateName']) }
  const long = (field: string, found: string, limit: number) =>
    found.length > limit
      ? [{ field: `metadata.${field}`, found: `${found.length} characters`, expected: `at most ${limit}` }]
      : []
  const isLabel = name === '' || DNS_LABEL.test(name)
  const letters = 'lower-case letters and digits, with dashes between them'
  return [
    ...(isLabel ? [] : [{ field: 'metadata.name', found: `"${shownName(name)}"`, expected: letters }]),
    ...long('name', name, NAME_LIMIT),
    ...long('generateName', generateName, GENERATED_LIMIT),
  ]
}

function cronProblems(reconcile: JsonFields): readonly Problem[] {
  return ['succeededReconcile', 'failedReconcile'].flatMap((name) => {
    const text = textOf(fieldsOf(reconcile[name])['cronSpec'])
    const found = text === '' ? undefined : cronProblem(text)
    if (found === undefined) return []
    const expected = 'minute, hour, day of month, month and day of week, or one such as @daily'
    return [{ field: `spec.automaticReconcile.${name}.cronSpec`, found, expected }]
  })
}

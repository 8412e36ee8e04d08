// Admission rules for DeployItems. Source: spec/landscaper.md 5.3.

import type { Admission, Problem } from '../../kit/index.ts'
import { OPERATION_ANNOTATION, RETRY_OPERATION, SKIP_ANNOTATION } from '../contract.ts'
import { shownName, targetReferenceDefects } from '../item-rules.ts'
import { fieldsOf, textOf } from '../json-fields.ts'
import { operationRules, OPERATIONS } from '../operation-warnings.ts'
import { steeredByMutations } from '../steered-by.ts'
import { deployItemKind } from './kind.ts'

export const deployItemAdmission: Admission = {
  kind: deployItemKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object, old }) {
    const spec = fieldsOf(fieldsOf(object)['spec'])
    const targets = targetReferenceDefects(spec['target']).map((one) => ({ ...one, field: `spec.${one.field}` }))
    return [...typeProblems(textOf(spec['type']), old), ...targets]
  },
  metadata: operationRules(OPERATIONS.deployItem),
  mutations: steeredByMutations([SKIP_ANNOTATION, { annotation: OPERATION_ANNOTATION, value: RETRY_OPERATION }]),
}

function typeProblems(type: string, old: object | undefined): readonly Problem[] {
  if (type === '') return [{ field: 'spec.type', found: 'nothing', expected: 'the type, which selects the deployer' }]
  if (old === undefined) return []
  const before = textOf(fieldsOf(fieldsOf(old)['spec'])['type'])
  return before === type
    ? []
    : [
        {
          field: 'spec.type',
          found: `"${shownName(type)}"`,
          expected: `"${shownName(before)}", which cannot be changed`,
        },
      ]
}

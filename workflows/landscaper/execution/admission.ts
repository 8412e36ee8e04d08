// Admission rule for Executions: every item has a name, and the dependencies have an order (item-rules.ts). Source: spec/landscaper.md
// 5.3.

import type { Admission } from '../../kit/index.ts'
import { PAUSED_ANNOTATION } from '../contract.ts'
import { listProblems } from '../item-rules.ts'
import { fieldsOf, listOf } from '../json-fields.ts'
import { operationRules, OPERATIONS } from '../operation-warnings.ts'
import { steeredByMutations } from '../steered-by.ts'
import { executionKind } from './kind.ts'

export const executionAdmission: Admission = {
  kind: executionKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object }) {
    const spec = fieldsOf(fieldsOf(object)['spec'])
    return listProblems(listOf(spec['deployItems']), 'spec.deployItems')
  },
  asyncRules: () => import('../../../activities/landscaper/further-rules.ts'),
  metadata: operationRules(OPERATIONS.execution),
  mutations: steeredByMutations([PAUSED_ANNOTATION]),
}

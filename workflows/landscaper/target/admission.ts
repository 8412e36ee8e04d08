// What a Target must be to be stored. Source: spec/landscaper.md 5.3.

import type { Admission } from '../../kit/index.ts'
import { fieldsOf, has } from '../json-fields.ts'
import { targetKind } from './kind.ts'

// Not a rule in CEL of the CRD: CEL does not see fields that may be anything, as the configuration may.
export const targetAdmission: Admission = {
  kind: targetKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object }) {
    const spec = fieldsOf(fieldsOf(object)['spec'])
    return has(spec, 'config') && has(spec, 'secretRef')
      ? [{ field: 'spec', found: 'config and secretRef', expected: 'one of them' }]
      : []
  },
}

// Admission rule for Targets. Source: spec/landscaper.md 5.3.

import type { Admission } from '../../kit/index.ts'
import { fieldsOf, has } from '../json-fields.ts'
import { targetKind } from './kind.ts'

// A CEL rule of the CRD cannot express it: CEL does not see fields without a schema, such as the configuration.
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

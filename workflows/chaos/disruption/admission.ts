// What a Disruption must be to be stored, whatever the configuration and the cluster: rules/policy.ts and rules/safety-nets.ts have what depends on these.
// Source: spec/chaos.md 1.4, 1.8, 2.10.

import type { Admission } from '../../kit/index.ts'
import { fieldsOf } from '../json-fields.ts'
import { disruptionKind } from './kind.ts'
import { changeProblems } from './rules/changes.ts'
import { nameProblems } from './rules/policy.ts'
import { specProblems } from './rules/spec.ts'

export const disruptionAdmission: Admission = {
  kind: disruptionKind,
  operations: ['CREATE', 'UPDATE'],
  *validate({ operation, object, old }) {
    const { metadata, spec } = fieldsOf(object)
    if (operation === 'CREATE') yield* nameProblems(fieldsOf(metadata))
    yield* specProblems(spec)
    if (old !== undefined) yield* changeProblems(old, object)
  },
}

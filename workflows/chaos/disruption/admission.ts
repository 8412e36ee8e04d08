// Admission rules for Disruptions that need neither configuration nor cluster; activities/chaos/further-rules.ts checks
// the others. Source: spec/chaos.md 1.4, 1.8, 2.10.

import type { Admission } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'
import { fieldsOf } from '../json-fields.ts'
import { USER_INFO_MUTATIONS, USER_INFO_RULES } from '../user-info.ts'
import { disruptionKind } from './kind.ts'
import { changeProblems, nameProblems } from './rules/policy.ts'
import { dnsListMutation } from './rules/dns.ts'
import { DURATION_MUTATION } from './rules/timing.ts'
import { networkWarnings } from './rules/network.ts'
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
  metadata: { ...USER_INFO_RULES, filter: { ...USER_INFO_RULES.filter, finalizersRemoved: [FINALIZER] } },
  asyncRules: () => import('../../../activities/chaos/further-rules.ts'),
  *warnings({ object }) {
    const spec = fieldsOf(fieldsOf(object)['spec'])
    yield* networkWarnings(spec, 'spec')
    // Source: spec/chaos.md 1.2.
    if (String(spec['count']) === '100')
      yield 'spec.count: found 100, which means 100 targets; write "100%" for all targets'
  },
  // Without a webhook the controller applies its own default.
  mutations: [
    ...USER_INFO_MUTATIONS,
    dnsListMutation(['spec']),
    { name: DURATION_MUTATION, filter: { spec: true }, whenUnavailable: 'pass' },
  ],
}

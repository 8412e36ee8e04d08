// Admission rules for DisruptionCrons that need no configuration; activities/chaos/further-rules.ts checks the others.
// Source: spec/chaos.md 2.12.

import type { Admission } from '../../kit/index.ts'
import { dnsListMutation } from '../disruption/rules/dns.ts'
import { networkWarnings } from '../disruption/rules/network.ts'
import { fieldsOf } from '../json-fields.ts'
import { USER_INFO_MUTATIONS, USER_INFO_RULES } from '../user-info.ts'
import { disruptionCronKind } from './kind.ts'
import { cronProblems, TOLERANCE_MUTATION } from './rules/cron.ts'

export const disruptionCronAdmission: Admission = {
  kind: disruptionCronKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => cronProblems(object),
  metadata: USER_INFO_RULES,
  warnings: ({ object }) =>
    networkWarnings(fieldsOf(fieldsOf(object)['spec'])['disruptionTemplate'], 'spec.disruptionTemplate'),
  asyncRules: () => import('../../../activities/chaos/further-rules.ts'),
  mutations: [
    ...USER_INFO_MUTATIONS,
    dnsListMutation(['spec', 'disruptionTemplate']),
    { name: TOLERANCE_MUTATION, filter: { spec: true }, whenUnavailable: 'pass' },
  ],
}

// Admission rules for DisruptionRollouts. Source: spec/chaos.md 2.13.

import type { Admission, Problem } from '../../kit/index.ts'
import { dnsListMutation } from '../disruption/rules/dns.ts'
import { networkWarnings } from '../disruption/rules/network.ts'
import { specProblems } from '../disruption/rules/spec.ts'
import { fieldsOf } from '../json-fields.ts'
import { parentNameProblems, targetResourceProblems, toleranceProblems } from '../target-resource.ts'
import { USER_INFO_MUTATIONS, USER_INFO_RULES } from '../user-info.ts'
import { disruptionRolloutKind } from './kind.ts'

/** With the prefix `disruption-rollout-`, the name must fit the 63 characters of a label. */
const MAX_NAME_LENGTH = 44

/** The problems that need no configuration. */
export function rolloutProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  return [
    ...parentNameProblems(metadata, MAX_NAME_LENGTH),
    ...toleranceProblems(spec, 'spec'),
    ...targetResourceProblems(spec['targetResource'], 'spec.targetResource'),
    ...specProblems(spec['disruptionTemplate'], { at: 'spec.disruptionTemplate', isTemplate: true }),
  ]
}

export const disruptionRolloutAdmission: Admission = {
  kind: disruptionRolloutKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => rolloutProblems(object),
  metadata: USER_INFO_RULES,
  asyncRules: () => import('../../../activities/chaos/further-rules.ts'),
  warnings: ({ object }) =>
    networkWarnings(fieldsOf(fieldsOf(object)['spec'])['disruptionTemplate'], 'spec.disruptionTemplate'),
  mutations: [...USER_INFO_MUTATIONS, dnsListMutation(['spec', 'disruptionTemplate'])],
}

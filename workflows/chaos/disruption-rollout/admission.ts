// The webhook's rules for DisruptionRollouts: validation, warnings and mutations. Source: spec/chaos.md 2.13.

import type { Admission, Problem } from '../../kit/index.ts'
import { dnsListMutation } from '../disruption/rules/dns.ts'
import { networkWarnings } from '../disruption/rules/network.ts'
import { specProblems } from '../disruption/rules/spec.ts'
import { fieldsOf } from '../json-fields.ts'
import { parentNameProblems, targetResourceProblems, toleranceProblems } from '../target-resource.ts'
import { USER_INFO_MUTATIONS, USER_INFO_RULES } from '../user-info.ts'
import { disruptionRolloutKind } from './kind.ts'

/** The name of its Disruption, `disruption-rollout-<name>`, becomes a label value, which has at most 63 characters. */
const MAX_NAME_LENGTH = 44

/** The rules that need neither the operators' configuration nor the cluster; the others are in `asyncRules`. */
export function rolloutProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  return [
    // The rollout is the parent of its Disruption.
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
  // Rules about the annotation with the user who created the object.
  metadata: USER_INFO_RULES,
  // Only the webhook loads this module; workflows do not.
  asyncRules: () => import('../../../activities/chaos/further-rules.ts'),
  warnings: ({ object }) =>
    networkWarnings(fieldsOf(fieldsOf(object)['spec'])['disruptionTemplate'], 'spec.disruptionTemplate'),
  // The second mutation converts a list in `spec.disruptionTemplate.dns` to the stored form, an object.
  mutations: [...USER_INFO_MUTATIONS, dnsListMutation(['spec', 'disruptionTemplate'])],
}

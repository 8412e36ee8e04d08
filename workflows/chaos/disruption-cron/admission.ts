// What a DisruptionCron must be to be stored, whatever the configuration: activities/chaos/further-rules.ts asks what depends on that. Source:
// spec/chaos.md 2.12.

import type { Admission, AdmissionRequest, FieldChange } from '../../kit/index.ts'
import { goDurationOfMs } from '../go-duration.ts'
import { fieldsOf, says } from '../json-fields.ts'
import { USER_INFO_MUTATIONS, USER_INFO_RULES } from '../user-info.ts'
import { disruptionCronKind } from './kind.ts'
import { cronProblems } from './rules.ts'

/** The mutation that depends on the configuration. */
export const TOLERANCE_MUTATION = 'tolerance'

export const disruptionCronAdmission: Admission = {
  kind: disruptionCronKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => cronProblems(object),
  metadata: USER_INFO_RULES,
  further: () => import('../../../activities/chaos/further-rules.ts'),
  mutations: [...USER_INFO_MUTATIONS, { name: TOLERANCE_MUTATION, asked: { spec: true }, whenAway: 'pass' }],
}

/** One without a tolerance gets the operators'. */
export function toleranceChange(
  { object }: Pick<AdmissionRequest, 'object'>,
  defaultMs: number,
): readonly FieldChange[] {
  if (says(fieldsOf(fieldsOf(object)['spec']), 'delayedStartTolerance')) return []
  return [{ path: ['spec', 'delayedStartTolerance'], value: goDurationOfMs(defaultMs) }]
}

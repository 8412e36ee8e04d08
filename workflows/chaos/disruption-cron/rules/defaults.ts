// What a DisruptionCron gets that its author has not said. Source: spec/chaos.md 2.12.

import type { AdmissionRequest, FieldChange } from '../../../kit/index.ts'
import { goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, says } from '../../json-fields.ts'

/** The mutation that depends on the configuration. */
export const TOLERANCE_MUTATION = 'tolerance'

/** One without a tolerance gets the operators'. */
export function toleranceChange(
  { object }: Pick<AdmissionRequest, 'object'>,
  defaultMs: number,
): readonly FieldChange[] {
  if (says(fieldsOf(fieldsOf(object)['spec']), 'delayedStartTolerance')) return []
  return [{ path: ['spec', 'delayedStartTolerance'], value: goDurationOfMs(defaultMs) }]
}

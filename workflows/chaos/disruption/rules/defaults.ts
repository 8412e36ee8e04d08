// What a Disruption gets that its author has not said. Source: spec/chaos.md 2.10 "Defaulting".

import type { AdmissionRequest, FieldChange } from '../../../kit/index.ts'
import { goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, says } from '../../json-fields.ts'

/** The mutation that depends on the configuration. */
export const DURATION_MUTATION = 'duration'

/** One without a duration gets the operators'; what says none of one that is there leaves it as it is. */
export function durationChange(
  { object, old }: Pick<AdmissionRequest, 'object' | 'old'>,
  defaultDurationMs: number,
): readonly FieldChange[] {
  const [spec, before] = [object, old].map((one) => fieldsOf(fieldsOf(one)['spec']))
  if (spec === undefined || says(spec, 'duration')) return []
  const value = old === undefined ? goDurationOfMs(defaultDurationMs) : before?.['duration']
  return value === undefined ? [] : [{ path: ['spec', 'duration'], value }]
}

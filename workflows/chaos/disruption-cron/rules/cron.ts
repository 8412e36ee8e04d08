// Rules for DisruptionCrons. Source: spec/chaos.md 2.12 "Validation".

import type { Problem, AdmissionRequest, FieldChange } from '../../../kit/index.ts'
import { reportingProblems, specProblems } from '../../disruption/rules/spec.ts'
import { environmentProblems, userGroupProblems } from '../../disruption/rules/policy.ts'
import { durationMs, goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, hasValue, formatValue, textOf } from '../../json-fields.ts'
import { EXPECTED_SCHEDULE, readSchedule } from '../../schedule.ts'
import { parentNameProblems, targetResourceProblems, toleranceProblems } from '../../target-resource.ts'

/** With the prefix `disruption-cron-`, the name must fit the 63 characters of a label. */
const MAX_NAME_LENGTH = 47

/** The problems that need no configuration. */
export function cronProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  const { schedule } = spec
  const isSchedule = readSchedule(textOf(schedule)) !== undefined
  return [
    ...parentNameProblems(metadata, MAX_NAME_LENGTH),
    ...(isSchedule ? [] : [{ field: 'spec.schedule', found: formatValue(schedule), expected: EXPECTED_SCHEDULE }]),
    ...toleranceProblems(spec, 'spec'),
    ...targetResourceProblems(spec['targetResource'], 'spec.targetResource'),
    ...reportingProblems(spec['reporting'], 'spec.reporting'),
    ...specProblems(spec['disruptionTemplate'], { at: 'spec.disruptionTemplate', isTemplate: true }),
  ]
}

/** The part of the configuration that these rules use. */
export interface CronPolicy {
  readonly controller: {
    readonly defaultDurationMs: number
    readonly minimumCronFrequencyMs: number
    readonly safeMode: { readonly environment: string; readonly permittedUserGroups: readonly string[] }
  }
}

export interface CronRequest {
  readonly object: unknown
  readonly groups: readonly string[]
  readonly nowMs: number
}

/** The operators' rules. */
export function cronPolicyProblems(
  { controller }: CronPolicy,
  { object, groups, nowMs }: CronRequest,
): readonly Problem[] {
  const { metadata, spec } = fieldsOf(object)
  const { environment, permittedUserGroups } = controller.safeMode
  return [
    ...userGroupProblems(permittedUserGroups, groups),
    ...environmentProblems(environment, fieldsOf(metadata)),
    ...pauseProblems(spec, controller, nowMs),
  ]
}

/**
 * After the end of the next Disruption, the pause until the following start must be long enough. Starts during a
 * Disruption create none. Source: spec/chaos.md 2.12 "Validation".
 */
function pauseProblems(
  value: unknown,
  { defaultDurationMs, minimumCronFrequencyMs }: CronPolicy['controller'],
  nowMs: number,
): readonly Problem[] {
  const spec = fieldsOf(value)
  const template = fieldsOf(spec['disruptionTemplate'])
  const schedule = readSchedule(textOf(spec['schedule']))
  const next = schedule?.after(nowMs)
  const lasts = hasValue(template, 'duration') ? durationMs(template['duration']) : defaultDurationMs
  if (next === undefined || lasts === undefined) return []
  const end = next + lasts
  const following = schedule?.after(end, next)
  if (following === undefined) return []
  const pauseMs = following - end
  if (pauseMs >= minimumCronFrequencyMs) return []
  const found = `${goDurationOfMs(pauseMs)} between the end of a Disruption and the next one`
  return [
    {
      field: 'spec.schedule',
      found,
      expected: `at least ${goDurationOfMs(minimumCronFrequencyMs)}, because of controller.minimumCronFrequency`,
    },
  ]
}

/** The name of the mutation that needs the configuration. */
export const TOLERANCE_MUTATION = 'tolerance'

/** Sets the operators' default tolerance on a cron without one. Source: spec/chaos.md 2.12. */
export function toleranceChange(
  { object }: Pick<AdmissionRequest, 'object'>,
  defaultMs: number,
): readonly FieldChange[] {
  if (hasValue(fieldsOf(fieldsOf(object)['spec']), 'delayedStartTolerance')) return []
  return [{ path: ['spec', 'delayedStartTolerance'], value: goDurationOfMs(defaultMs) }]
}

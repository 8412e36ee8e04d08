// What a DisruptionCron must be. Source: spec/chaos.md 2.12 "Validation".

import type { Problem } from '../../../kit/index.ts'
import { reportingProblems, specProblems } from '../../disruption/rules/spec.ts'
import { environmentProblems, userGroupProblems } from '../../disruption/rules/policy.ts'
import { durationMs, goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, says, shown, textOf } from '../../json-fields.ts'
import { EXPECTED_SCHEDULE, readSchedule } from '../../schedule.ts'
import { parentNameProblems, targetResourceProblems, toleranceProblems } from '../../target-resource.ts'

/** Behind `disruption-cron-`, of the 63 characters of a label. */
const LONGEST_NAME = 47

/** What is wrong with it, whatever the configuration. */
export function cronProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  const { schedule } = spec
  const isSchedule = readSchedule(textOf(schedule)) !== undefined
  return [
    ...parentNameProblems(metadata, LONGEST_NAME),
    ...(isSchedule ? [] : [{ field: 'spec.schedule', found: shown(schedule), expected: EXPECTED_SCHEDULE }]),
    ...toleranceProblems(spec, 'spec'),
    ...targetResourceProblems(spec['targetResource'], 'spec.targetResource'),
    ...reportingProblems(spec['reporting'], 'spec.reporting'),
    ...specProblems(spec['disruptionTemplate'], { at: 'spec.disruptionTemplate', isTemplate: true }),
  ]
}

/** The part of the configuration that crons are held to. */
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

/** What the operators of a cluster allow. */
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
 * From the end of the next Disruption until the first start behind it nothing is disturbed, for long enough. Starts while there is one make none. Source:
 * spec/chaos.md 2.12 "Validation".
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
  const lasts = says(template, 'duration') ? durationMs(template['duration']) : defaultDurationMs
  if (next === undefined || lasts === undefined) return []
  const end = next + lasts
  const following = schedule?.after(end, next)
  if (following === undefined) return []
  const pauseMs = following - end
  if (pauseMs >= minimumCronFrequencyMs) return []
  const found = `${goDurationOfMs(pauseMs)} between the end of a Disruption and the next one`
  return [{ field: 'spec.schedule', found, expected: `at least ${goDurationOfMs(minimumCronFrequencyMs)}` }]
}

// Sets the condition that reports what the schedule does, if the condition has changed. A pass without changes
// writes nothing.

import { type ConditionChange, setCondition } from 'pawl/kit'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'

const TYPE = 'Scheduled'

/** Call it at most once per pass. */
export function reportOn(
  { target, status }: CronJobControllerManagerPass,
  now: Date,
  change: Omit<ConditionChange, 'type'>,
): void {
  const conditions = target.status?.conditions
  const before = conditions?.find(({ type }) => type === TYPE)
  const hasChanged =
    before?.status !== change.status || before.reason !== change.reason || before.message !== change.message
  if (hasChanged) status['conditions'] = setCondition(conditions, { type: TYPE, ...change }, now.toISOString())
}

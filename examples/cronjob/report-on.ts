// The condition by which an object tells what its schedule does. Written only when it says something new: a pass that finds nothing
// to do writes nothing.

import { type ConditionChange, setCondition } from 'pawl/kit'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'

const TYPE = 'Scheduled'

/** Sets the condition; at most once in a pass. */
export function reportOn(
  { target, status }: CronJobControllerManagerPass,
  now: Date,
  said: Omit<ConditionChange, 'type'>,
): void {
  const conditions = target.status?.conditions
  const before = conditions?.find(({ type }) => type === TYPE)
  const isNews = before?.status !== said.status || before.reason !== said.reason || before.message !== said.message
  if (isNews) status['conditions'] = setCondition(conditions, { type: TYPE, ...said }, now.toISOString())
}

// Decides whether a Job is due. Of several missed starts, only the last is made.
// Source: k8s.io/kubernetes v1.34 pkg/controller/cronjob/utils.go (mostRecentScheduleTime) and cronjob_controllerv2.go (syncCronJob).

import type { Schedule } from './schedule.ts'

/** More missed starts than this cause a warning. Source: as above. */
export const MANY_STARTS = 100

export interface StartInput {
  readonly schedule: Schedule
  /** The last scheduled time for which a Job was started; at first, the creation of the object. */
  readonly since: Date
  readonly now: Date
  /** The maximum delay of a start; undefined: no limit. */
  readonly deadlineSeconds: number | undefined
}

/** `none`: no Job is due; `late`: a start was missed and its deadline has passed; `due`: start a Job. */
export type DueStart =
  | { readonly verdict: 'none' }
  | { readonly verdict: 'late'; readonly at: Date }
  | { readonly verdict: 'due'; readonly at: Date; readonly manyMissed: boolean }

export function dueStart({ schedule, since, now, deadlineSeconds }: StartInput): DueStart {
  const at = schedule.notAfter(now)
  if (at === undefined || at <= since) return { verdict: 'none' }
  const oldest = deadlineSeconds === undefined ? since : new Date(now.getTime() - deadlineSeconds * 1000)
  if (at < oldest) return { verdict: 'late', at }
  return { verdict: 'due', at, manyMissed: isMany(schedule, oldest > since ? oldest : since, at) }
}

function isMany(schedule: Schedule, since: Date, last: Date): boolean {
  let moment: Date | undefined = since
  for (let count = 0; moment !== undefined && moment < last; count++) {
    if (count === MANY_STARTS) return true
    moment = schedule.after(moment)
  }
  return false
}

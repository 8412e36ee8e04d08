// Whether a Job is to be started now. Starts that were missed are not made up for: only the last of them is.
// Source: k8s.io/kubernetes v1.34 pkg/controller/cronjob/utils.go (mostRecentScheduleTime) and cronjob_controllerv2.go (syncCronJob).

import type { Schedule } from './schedule.ts'

/** More starts than these are worth a warning. Source: as above. */
export const MANY_STARTS = 100

export interface StartQuestion {
  readonly schedule: Schedule
  /** The time of the schedule that was last served; at first when the object was created. */
  readonly since: Date
  readonly now: Date
  /** How late a start may be; undefined for however late. */
  readonly deadlineSeconds: number | undefined
}

/** `none`: no start was missed; `late`: one was, and may no longer be made; `due`: one is to be made. */
export type DueStart =
  | { readonly verdict: 'none' }
  | { readonly verdict: 'late'; readonly at: Date }
  | { readonly verdict: 'due'; readonly at: Date; readonly manyMissed: boolean }

export function dueStart({ schedule, since, now, deadlineSeconds }: StartQuestion): DueStart {
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

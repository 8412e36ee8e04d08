// Starts the Job that is due, and schedules the next pass.
//
//   R1. Each scheduled time starts at most one Job: the name of the Job contains the time, and the status records the time.
//   R2. Of several missed starts, only the last is made, and only within startingDeadlineSeconds.
//   R3. An invalid schedule is a final fault: Pawl does not retry until the object changes.

import { again, done, fail, type Outcome } from 'pawl/kit'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'
import { type DueStart, dueStart, MANY_STARTS } from './due-start.ts'
import { isActive, jobFor, jobName, rfc3339 } from './job.ts'
import { reportOn } from './report-on.ts'
import { readSchedule } from './schedule.ts'

const MANY_MISSED = 'TooManyMissedStarts'

type Pass = CronJobControllerManagerPass

export async function runNextScheduledJob(pass: Pass): Promise<Outcome> {
  const { metadata, spec, status } = pass.target
  // In the workflow sandbox, this is the time of the run, which is the same in every replay.
  const now = new Date()
  const schedule = readSchedule(spec)
  if ('code' in schedule) {
    reportOn(pass, now, { status: 'False', reason: schedule.code, message: schedule.message })
    return fail(schedule.code, schedule.message)
  }
  const since = new Date(status?.lastScheduleTime ?? metadata.creationTimestamp)
  const start = dueStart({ schedule, since, now, deadlineSeconds: spec.startingDeadlineSeconds })
  const obstacle = start.verdict === 'due' ? await startJob(pass, start.at) : undefined

  const next = schedule.after(now)
  if (start.verdict !== 'none' || !hasWarning(pass)) reportOn(pass, now, obstacle ?? missed(start) ?? waiting(next))
  return next === undefined ? done : again(next.getTime() - now.getTime())
}

/** Starts the Job of a scheduled time (R1), or returns the condition that explains why it must wait. */
async function startJob({ target, state, act, status }: Pass, at: Date) {
  const name = jobName(target, at)
  const active = state.jobs.filter(isActive).filter(({ metadata }) => metadata.name !== name)
  const [first] = active
  if (first !== undefined && target.spec.concurrencyPolicy === 'Forbid') {
    const message = `the start of ${rfc3339(at)} waits for the active Job ${first.metadata.name}`
    return { status: 'False', reason: 'JobAlreadyActive', message } as const
  }
  if (target.spec.concurrencyPolicy === 'Replace') for (const job of active) await act.remove(job)
  // The Job exists if the previous pass was interrupted before it wrote the status.
  if (!state.jobs.some(({ metadata }) => metadata.name === name)) await act.apply(jobFor(target, at))
  status['lastScheduleTime'] = rfc3339(at)
  return undefined
}

// Reports R2. The condition stays until the next start, so that a user can read it.
function missed(start: DueStart) {
  if (start.verdict === 'late') {
    const message = `the start of ${rfc3339(start.at)} was missed by more than spec.startingDeadlineSeconds`
    return { status: 'True', reason: 'MissedStart', message } as const
  }
  if (start.verdict === 'none' || !start.manyMissed) return undefined
  const message = `more than ${MANY_STARTS} starts were missed, and only the start of ${rfc3339(start.at)} was made; set spec.startingDeadlineSeconds to ignore old starts`
  return { status: 'True', reason: MANY_MISSED, message } as const
}

function hasWarning({ target }: Pass): boolean {
  return target.status?.conditions?.some(({ reason }) => reason === MANY_MISSED) === true
}

function waiting(next: Date | undefined) {
  const message = next === undefined ? 'the schedule has no further time' : `the next start is at ${rfc3339(next)}`
  return { status: 'True', reason: 'Waiting', message } as const
}

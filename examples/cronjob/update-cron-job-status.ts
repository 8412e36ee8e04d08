// Completes the status after the other actions, even if they failed: the object is suspended, or a Job was started.

import { done, type Outcome } from 'pawl/kit'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'
import { isActive, referenceTo } from './job.ts'
import { reportOn } from './report-on.ts'

export async function updateCronJobStatus(pass: CronJobControllerManagerPass): Promise<Outcome> {
  const { target, status } = pass
  if (target.spec.suspend === true) {
    const message = 'no Job is started while spec.suspend is true'
    reportOn(pass, new Date(), { status: 'False', reason: 'Suspended', message })
  }
  // The observed Jobs do not include the Job that this pass has started.
  const hasStarted = status['lastScheduleTime'] !== undefined
  if (hasStarted) status['active'] = (await pass.refresh('jobs')).filter(isActive).map(referenceTo)
  return done
}

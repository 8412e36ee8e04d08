// The run of a notification: tries to send it for a limited time, then records that it was not sent.

import type { Notification, NotificationActivities } from '../notification.ts'
import { attempt, finalFailure, longActivities } from './temporal.ts'

/** Time-out of one try. */
const TRY_MS = 90_000
/** Heartbeat time-out: after the death of a worker another one continues. The SDK sends heartbeats at most every 4/5 of it. */
const SILENCE_MS = 20_000
const LONGEST_RETRY_MS = 300_000
const TELL_MS = 30_000
const TELL_ATTEMPTS = 12

/** @throws `NoticeNotSent` after the last try, so that the run shows as Failed. */
export async function runNotification(notice: Notification): Promise<void> {
  const { notifier, receiver, reason, subject, tries } = notice
  const about = `${reason} of ${subject.kind} ${subject.name}`
  const { sendNotice } = longActivities<NotificationActivities>({
    startToCloseMs: TRY_MS,
    heartbeatMs: SILENCE_MS,
    factor: 2,
    longestRetryMs: LONGEST_RETRY_MS,
    ...tries,
    summary: () => `notify ${notifier} (${receiver}): ${about}`,
  })
  const sent = await attempt(() => sendNotice(notice))
  if ('value' in sent) return
  const [fault] = sent.outcome.faults
  const why = fault?.message ?? 'unknown error'
  const { tellUnsentNotice } = longActivities<NotificationActivities>({
    startToCloseMs: TELL_MS,
    factor: 2,
    longestRetryMs: LONGEST_RETRY_MS,
    attempts: TELL_ATTEMPTS,
    summary: () => `report the failed notification of ${notifier} (${receiver}): ${about}`,
  })
  const said = await attempt(() => tellUnsentNotice({ notice, why }))
  const unsaid =
    'value' in said
      ? ''
      : `; the Event NotificationFailed could not be written either: ${said.outcome.faults[0]?.message ?? ''}`
  throw finalFailure('NoticeNotSent', `notifier ${notifier} (${receiver}) was not notified: ${why}${unsaid}`)
}

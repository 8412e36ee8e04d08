// The run of one notice (kit/run/notice.ts): tried until it is brought, for a bounded time; then it is said that it was not.

import type { Notification, NotificationActivities } from '../notification.ts'
import { attempt, finalFailure, longActivities } from './temporal.ts'

/** Of one try: what a receiver needs, and what a token before it needs. */
const TRY_MS = 90_000
/** The activity says more often that it is there, so that one of a worker that died is tried by another. The SDK passes on what is said in 4/5 of it. */
const SILENCE_MS = 20_000
const LONGEST_RETRY_MS = 300_000
const TELL_MS = 30_000
const TELL_ATTEMPTS = 12

/** @throws `NoticeNotSent` when it was given up, so that the run shows as failed. */
export async function runNotification(notice: Notification): Promise<void> {
  const { notifier, receiver, reason, subject, tries } = notice
  const about = `${reason} of ${subject.kind} ${subject.name}`
  const { sendNotice } = longActivities<NotificationActivities>({
    startToCloseMs: TRY_MS,
    heartbeatMs: SILENCE_MS,
    factor: 2,
    longestRetryMs: LONGEST_RETRY_MS,
    ...tries,
    summary: () => `tell ${notifier} (${receiver}): ${about}`,
  })
  const sent = await attempt(() => sendNotice(notice))
  if ('value' in sent) return
  const [fault] = sent.outcome.faults
  const why = fault?.message ?? 'nobody knows why'
  const { tellUnsentNotice } = longActivities<NotificationActivities>({
    startToCloseMs: TELL_MS,
    factor: 2,
    longestRetryMs: LONGEST_RETRY_MS,
    attempts: TELL_ATTEMPTS,
    summary: () => `say that ${notifier} (${receiver}) was not told: ${about}`,
  })
  const said = await attempt(() => tellUnsentNotice({ notice, why }))
  const unsaid =
    'value' in said ? '' : `; the Event that says so is missing, too: ${said.outcome.faults[0]?.message ?? ''}`
  throw finalFailure('NoticeNotSent', `${notifier} (${receiver}) was not told: ${why}${unsaid}`)
}

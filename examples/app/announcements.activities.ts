// What the platform is told of its applications, where it wants to hear: the worker's environment says so, not an App. An App is a team's, and must
// not send the worker wherever the team likes.

import { type ActivityContext, ActivityError } from 'pawl/kit'

export interface Announcement {
  readonly app: string
  /** As of the condition Ready. */
  readonly reason: string
  readonly message: string
}

/** Posts it to `APP_ANNOUNCEMENTS_URL`, as JSON; without that variable nothing is sent. An announcement may come twice, with the same key. */
export async function announce(
  news: Announcement,
  { signal, callID }: ActivityContext,
): Promise<'sent' | 'not wanted'> {
  const url = process.env['APP_ANNOUNCEMENTS_URL']
  if (url === undefined || url === '') return 'not wanted'
  const headers = { 'content-type': 'application/json', 'idempotency-key': callID }
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(news), headers, signal })
  await answer.body?.cancel()
  // Whoever listens has said that it will never take this one.
  const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 408 && answer.status !== 429
  if (!answer.ok)
    throw new ActivityError('NotAnnounced', `the platform answers ${answer.status}`, { retryable: !isFinal })
  return 'sent'
}

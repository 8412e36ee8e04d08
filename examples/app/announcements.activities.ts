// Sends announcements about Apps to the platform. The URL is in the worker's environment and not in the App: teams write Apps, and a team must
// not choose the servers that the worker calls.

import { type ActivityContext, ActivityError } from 'pawl/kit'

export interface Announcement {
  readonly app: string
  /** The reason of the condition Ready. */
  readonly reason: string
  readonly message: string
}

/** Posts JSON to `APP_ANNOUNCEMENTS_URL`, if the variable is set. The server may receive an announcement twice, with the same idempotency key. */
export async function announce(
  news: Announcement,
  { signal, callID }: ActivityContext,
): Promise<'sent' | 'not wanted'> {
  const url = process.env['APP_ANNOUNCEMENTS_URL']
  if (url === undefined || url === '') return 'not wanted'
  const headers = { 'content-type': 'application/json', 'idempotency-key': callID }
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(news), headers, signal })
  await answer.body?.cancel()
  // The server rejects this announcement for good; only timeouts and rate limits are worth a retry.
  const isFinal = answer.status >= 400 && answer.status < 500 && answer.status !== 408 && answer.status !== 429
  if (!answer.ok)
    throw new ActivityError(
      'NotAnnounced',
      `APP_ANNOUNCEMENTS_URL: the server answers with HTTP status ${answer.status}; expected 2xx`,
      { retryable: !isFinal },
    )
  return 'sent'
}

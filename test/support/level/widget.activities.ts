// Activities of the widget controller, for tests on real servers. They use fetch and timers of the worker process.

import { setInterval } from 'node:timers'

import { type ActivityContext, ActivityError } from 'pawl/kit'

export async function fetchPrice(
  { url }: { url: string },
  context: ActivityContext,
): Promise<{ price: string; at: Date }> {
  const headers = { 'idempotency-key': context.callID, attempt: String(context.attempt), widget: context.subject.name }
  const answer = await fetch(url, { headers, signal: context.signal })
  const text = await answer.text()
  if (answer.status === 402) throw new ActivityError('NotPaid', text, { retryable: false })
  if (!answer.ok) throw new Error(`${answer.status} ${text}`)
  context.log.info('a price was fetched', { price: text })
  return { price: text, at: new Date() }
}

/** Sends heartbeats every 200 ms while it waits for the answer. */
export async function waitForPrice({ url }: { url: string }, context: ActivityContext): Promise<string> {
  const beats = setInterval(() => context.heartbeat({ asked: url }), 200)
  try {
    return await (await fetch(url, { signal: context.signal })).text()
  } finally {
    clearInterval(beats)
  }
}

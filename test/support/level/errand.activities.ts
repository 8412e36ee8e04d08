// The activity of errands: a slow program, for tests on real servers.

import type { ActivityContext } from 'pawl/kit'

/** Reports the process, the attempt and the heartbeat details of the previous attempt. `isDeaf`: it ignores cancellation. */
export async function run(
  { url, isDeaf }: { readonly url: string; readonly isDeaf: boolean },
  context: ActivityContext,
): Promise<string> {
  const beats = setInterval(() => context.heartbeat({ askedBy: process.pid }), 200)
  const headers = {
    'idempotency-key': context.callID,
    attempt: String(context.attempt),
    errand: context.subject.name,
    'asked-by': String(process.pid),
    progress: JSON.stringify(context.progress ?? null),
  }
  try {
    const answer = await fetch(url, { headers, ...(!isDeaf && { signal: context.signal }) })
    return await answer.text()
  } finally {
    clearInterval(beats)
  }
}

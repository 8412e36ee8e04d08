// What errands ask of a program, which takes its time; for tests on real servers.

import type { ActivityContext } from 'pawl/kit'

/** Says by which process it is asked, in which try, and what the try before it has said. `isDeaf`: it does not stop when nobody waits any more. */
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

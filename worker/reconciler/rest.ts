// Waiting that may end early.

import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until one of these is there, `ms` at the longest. Leaves no timer behind: a process that has stopped would stay until it is over.
 *
 * @param isAwaited whether the process stays for it meanwhile.
 */
export async function rest(ms: number, ends: readonly Promise<unknown>[], isAwaited = true): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([...ends, sleep(ms, undefined, { signal: over.signal, ref: isAwaited }).catch(() => undefined)])
  } finally {
    over.abort()
  }
}

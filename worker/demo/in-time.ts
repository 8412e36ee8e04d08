// What is awaited, and not for ever.

import { setTimeout as sleep } from 'node:timers/promises'

/** @throws when it has not come after so many milliseconds. */
export async function inTime<Result>(what: string, limitMs: number, awaited: Promise<Result>): Promise<Result> {
  const ending = new AbortController()
  const late = sleep(limitMs, undefined, { signal: ending.signal }).then(() => {
    throw new Error(`expected within ${limitMs / 1000} s: ${what}`)
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([awaited, late])
  } finally {
    ending.abort()
  }
}

// Limits the time of a promise.

import { setTimeout as sleep } from 'node:timers/promises'

/** @throws an Error if the promise does not settle within the time. */
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

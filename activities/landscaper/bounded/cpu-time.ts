// Waits for work in another thread until it has used a given CPU time. On a busy machine wall-clock time passes while the work gets no CPU.

import { setTimeout as delay } from 'node:timers/promises'
import { readlinkSync } from 'node:fs'

/** Returns the CPU time of the work in milliseconds, counted from any fixed moment. */
export type CpuClock = () => Promise<number>

/** Resolves when the work has used `ms` more CPU time than at the call. Never resolves if the signal is aborted before. */
export async function whenCpuTimeUsed(time: CpuClock, ms: number, signal: AbortSignal): Promise<void> {
  const began = time()
  let left = ms
  while (left > 0) {
    // A thread cannot use more CPU time than the wall-clock time that passed.
    if (await isAborted(delay(Math.max(1, left), undefined, { signal }))) return await never()
    left = ms - ((await time()) - (await began))
  }
}

async function isAborted(wait: Promise<void>): Promise<boolean> {
  try {
    await wait
    return false
  } catch {
    return true
  }
}

async function never(): Promise<never> {
  return await new Promise<never>(() => undefined)
}

/**
 * The operating system's ID of the calling thread, by which its priority can be lowered; Node has no API for it. Undefined on systems other than
 * Linux.
 */
export function threadID(): number | undefined {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return Number.isSafeInteger(id) && id > 0 ? id : undefined
  } catch {
    return undefined
  }
}

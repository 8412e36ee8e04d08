// The operating system's number of a thread, by which its priority can be lowered. Node has no name for it.

import { readlinkSync } from 'node:fs'

/** Of the thread that asks; undefined where the system has no such numbers (only Linux does). */
export function threadID(): number | undefined {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return Number.isSafeInteger(id) && id > 0 ? id : undefined
  } catch {
    return undefined
  }
}

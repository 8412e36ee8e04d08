// The processes that a process has started for checks of schemas, as Linux knows them.

import { readdirSync, readFileSync } from 'node:fs'

/** Their numbers; of those that have ended, none. */
export function sealedChildren(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => textOf(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number))
    .filter(isSealed)
}

export function isSealed(pid: number): boolean {
  return textOf(`/proc/${pid}/cmdline`).split('\0').includes('--permission')
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // It has just ended.
    return ''
  }
}

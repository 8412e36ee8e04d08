// CPU by threads of one process: what a CPU profile does not see is outside of JavaScript, such as Temporal's core or garbage collection.

import { readdirSync, readFileSync } from 'node:fs'

import { TICKS_PER_SECOND } from './machine.ts'

/** CPU seconds since the start of the process, by the threads' name; threads of one name are one. */
export function threadSeconds(pid: number): ReadonlyMap<string, number> {
  const seconds = new Map<string, number>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readStat(`/proc/${pid}/task/${thread}/stat`)
    const end = stat.lastIndexOf(')')
    const name = stat.slice(stat.indexOf('(') + 1, end)
    const [user = 0, system = 0] = stat
      .slice(end + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number)
    seconds.set(name, (seconds.get(name) ?? 0) + (user + system) / TICKS_PER_SECOND)
  }
  return seconds
}

/** What each used between two readings, most first; without those that used nothing. */
export function usedBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): readonly (readonly [name: string, seconds: number])[] {
  return [...after]
    .map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)] as const)
    .filter(([, seconds]) => seconds > 0)
    .sort(([, a], [, b]) => b - a)
}

function readStat(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Ended meanwhile.
    return ''
  }
}

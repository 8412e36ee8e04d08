// The machine that is measured on: what it is, and how busy it is with everything. Linux only, by /proc.

import { readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'

/** Of /proc; the same on every Linux (USER_HZ). */
export const TICKS_PER_SECOND = 100

export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryMiB: number
  readonly node: string
}

export function describeMachine(): Machine {
  const all = cpus()
  return {
    cores: all.length,
    processor: all[0]?.model.trim() ?? 'unknown',
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    node: process.version,
  }
}

/** Over one minute. */
export function load(): number {
  return loadavg()[0] ?? NaN
}

/** CPU seconds that all processes and the kernel have used since boot. */
export function busySeconds(): number {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = first.split(/\s+/).map(Number)
  return (user + nice + system + irq + softIrq + steal) / TICKS_PER_SECOND
}

// Identifies a process by pid and start time, because pids are reused.

import { readFileSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks since boot on Linux; null on other systems. */
  readonly started: string | null
}

/** The identity of a running process; undefined if no process has this pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined
  }
  const stat = procStat(pid)
  if (stat?.state === 'Z') return undefined
  return { pid, started: stat?.started ?? null }
}

/** True if the same process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started
}

/** Sends a signal; ignores a process that has ended. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return
  try {
    process.kill(identity.pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function procStat(pid: number): { state: string | undefined; started: string | undefined } | undefined {
  try {
    // The command's name in parentheses may contain spaces and parentheses, so the fields after the last parenthesis
    // are counted.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], started: fields[19] }
  } catch {
    return undefined
  }
}

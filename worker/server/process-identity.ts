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

function procStat(pid: number): ProcStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return undefined
  }
}

interface ProcStat {
  readonly pid: number
  readonly state: string | undefined
  readonly started: string | undefined
}

/** Parses the text of /proc/PID/stat. Source: proc_pid_stat(5). */
export function parseStat(text: string): ProcStat {
  // The command's name in parentheses may contain spaces and parentheses, so the fields after the last parenthesis
  // are counted.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { pid: Number.parseInt(text, 10), state: fields[0], started: fields[19] }
}

// Tells whether a process that a file names is still that process. A pid alone is not enough: numbers are used again.

import { readFileSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Start time in clock ticks since boot, where the system tells it (Linux); null elsewhere. */
  readonly started: string | null
}

/** Describes a running process, or undefined when there is none of that number. */
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

/** True when the process of that identity still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started
}

/** Sends a signal; a process that is gone already is success. */
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
    // The command's name, in parentheses, may hold spaces and parentheses: fields are counted after the last one.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], started: fields[19] }
  } catch {
    return undefined
  }
}

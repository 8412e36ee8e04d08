// Processes of this machine, as /proc shows them; one is known by its number and by when it was started.

import { readdir, readFile } from 'node:fs/promises'
import { kill } from 'node:process'

export interface ProcessRef {
  readonly pid: number
  /** Field 22 of /proc/PID/stat: ticks since the machine has started. */
  readonly startTime: string
}

interface ProcessStat extends ProcessRef {
  /** Dead, and not yet collected, too. */
  readonly isDead: boolean
  readonly session: number
}

/** Reads a line of /proc/PID/stat; undefined when it is none. */
export function parseStat(line: string): ProcessStat | undefined {
  const pid = Number.parseInt(line, 10)
  // The name stands in parentheses and may hold any sign.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [state, , , session] = fields
  const startTime = fields[19]
  if (!Number.isSafeInteger(pid) || startTime === undefined || !/^\d+$/.test(startTime)) return undefined
  return { pid, startTime, isDead: state === 'Z' || state === 'X', session: Number(session) }
}

/** Whether it is there: no later one with its number, and not dead. */
export async function isAlive({ pid, startTime }: ProcessRef): Promise<boolean> {
  const found = await statOf(pid)
  return found?.startTime === startTime && !found.isDead
}

/** Of this process itself. */
export async function ownProcess(): Promise<ProcessRef> {
  const found = await statOf(process.pid)
  if (found === undefined) throw new Error(`/proc/${process.pid}/stat: found nothing, expected this process`)
  return { pid: found.pid, startTime: found.startTime }
}

/** Sends a signal to it, or to all of its group; that it is gone is success. */
export async function signalTo(
  ref: ProcessRef,
  signal: 'SIGTERM' | 'SIGKILL',
  whom: 'process' | 'group',
): Promise<void> {
  if (!(await isAlive(ref))) return
  send(whom === 'group' ? -ref.pid : ref.pid, signal)
}

/**
 * Kills who is left of the session of a process that is dead.
 *
 * @param variable `NAME=VALUE` with which it, and so those that it started, was started: of others by these numbers nobody is killed.
 */
export async function killRestOf({ pid }: ProcessRef, variable: string): Promise<void> {
  for (const name of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
    const found = await statOf(Number(name))
    if (found?.session !== pid || found.isDead) continue
    if ((await variablesOf(found.pid)).includes(variable)) send(found.pid, 'SIGKILL')
  }
}

async function variablesOf(pid: number): Promise<readonly string[]> {
  return await readFile(`/proc/${pid}/environ`, 'utf8').then(
    (text) => text.split('\0'),
    // It is gone, or another user's.
    () => [],
  )
}

/** Changes with every start of the machine, after which all numbers are others'. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
}

async function statOf(pid: number): Promise<ProcessStat | undefined> {
  try {
    return parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Whether a file, or a process, is not there. */
export function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ESRCH'
}

// Processes that the agent has started: one is known by its number and by when it was started.

import { kill } from 'node:process'

import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { isAlive, isGone, pids, processRef, readText, variableOf } from '../injector/processes.ts'

const PROC = '/proc'

interface ProcessStat extends ProcessRef {
  readonly session: number
}

/** Reads a line of /proc/PID/stat; undefined when it is none. */
export function parseStat(line: string): ProcessStat | undefined {
  const pid = Number.parseInt(line, 10)
  // The name stands in parentheses and may hold any sign; field 3 follows it.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const startTime = fields[19]
  if (!Number.isSafeInteger(pid) || startTime === undefined || !/^\d+\s*$/.test(startTime)) return undefined
  return { pid, startTime, session: Number(fields[3]) }
}

/** Whether it is there: no later one with its number, and not dead. */
export async function isThere(ref: ProcessRef): Promise<boolean> {
  return await isAlive(PROC, ref)
}

/** This process itself. */
export async function ownProcess(): Promise<ProcessRef> {
  const found = await processRef(PROC, process.pid)
  if (found === undefined) throw new Error(`${PROC}/${process.pid}/stat: found nothing, expected this process`)
  return found
}

/** Sends a signal to it, or to all of its group; that it is gone is success. */
export async function signalTo(
  ref: ProcessRef,
  signal: 'SIGTERM' | 'SIGKILL',
  whom: 'process' | 'group',
): Promise<void> {
  if (await isThere(ref)) send(whom === 'group' ? -ref.pid : ref.pid, signal)
}

/**
 * Kills who is left of the session of a process that is dead.
 *
 * @param variable with its value, as it was started with, and so those that it has started: of others by these numbers nobody is killed.
 */
export async function killRestOf({ pid: leader }: ProcessRef, [name, value]: readonly [string, string]): Promise<void> {
  for (const pid of await pids(PROC)) {
    if (parseStat((await readText(`${PROC}/${pid}/stat`)) ?? '')?.session !== leader) continue
    // Of another user's, or of one that is gone, there is none.
    const found = await variableOf(PROC, pid, name).catch(() => undefined)
    if (found === value) send(pid, 'SIGKILL')
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

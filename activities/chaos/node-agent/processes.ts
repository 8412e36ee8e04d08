// Processes that the agent has started, identified by PID and start time.

import { kill } from 'node:process'

import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { isAlive, isGone, pids, processRef, readText, variableOf } from '../injector/processes.ts'

const PROC = '/proc'

interface ProcessStat extends ProcessRef {
  readonly session: number
}

/** Parses a line of /proc/PID/stat; undefined for an invalid line. */
export function parseStat(line: string): ProcessStat | undefined {
  const pid = Number.parseInt(line, 10)
  // The name is in parentheses and may contain any character; field 3 follows it.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const startTime = fields[19]
  if (!Number.isSafeInteger(pid) || startTime === undefined || !/^\d+\s*$/.test(startTime)) return undefined
  return { pid, startTime, session: Number(fields[3]) }
}

/** Whether this process is alive; a later process with its PID does not count. */
export async function isRunning(ref: ProcessRef): Promise<boolean> {
  return await isAlive(PROC, ref)
}

/** This process. */
export async function ownProcess(): Promise<ProcessRef> {
  const found = await processRef(PROC, process.pid)
  if (found === undefined) throw new Error(`${PROC}/${process.pid}/stat: found nothing; expected this process`)
  return found
}

/** Sends a signal to the process or its group; a missing process is a success. */
export async function signalTo(
  ref: ProcessRef,
  signal: 'SIGTERM' | 'SIGKILL',
  whom: 'process' | 'group',
): Promise<void> {
  if (await isRunning(ref)) send(whom === 'group' ? -ref.pid : ref.pid, signal)
}

/**
 * Kills the remaining processes in the session of a dead process.
 *
 * @param variable an environment variable of the process and its children, with its value: other processes are not
 * killed.
 */
export async function killSession(
  { pid: leader }: ProcessRef,
  [name, value]: readonly [string, string],
): Promise<void> {
  for (const pid of await pids(PROC)) {
    if (parseStat((await readText(`${PROC}/${pid}/stat`)) ?? '')?.session !== leader) continue
    // Processes of other users, and processes that have ended, are skipped.
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

// Processes that the agent has started, identified by PID and start time.

import { readdir, readFile, stat } from 'node:fs/promises'
import { kill } from 'node:process'

import { isRunning, type ProcessIdentity } from '../server/process-identity.ts'

/** A variable of each container's process, inherited by its children. Its value is unique to the run. */
export const OWN_VARIABLE = 'PAWL_CONTAINER'

/** Sends a signal to the process or its group; a missing process is a success. */
export function signalTo(ref: ProcessIdentity, name: NodeJS.Signals, whom: 'process' | 'group'): void {
  if (isRunning(ref)) send(whom === 'group' ? -ref.pid : ref.pid, name)
}

/** Kills all processes whose environment has this value of the agent's variable, also those in other sessions. */
export async function killContainer(value: string): Promise<void> {
  const killed = new Set<number>()
  // A process can start another one while the processes are listed.
  for (;;) {
    const found = (await processesWith(value)).filter((pid) => !killed.has(pid))
    if (found.length === 0) return
    for (const pid of found) {
      send(pid, 'SIGKILL')
      killed.add(pid)
    }
  }
}

async function processesWith(value: string): Promise<readonly number[]> {
  const line = `${OWN_VARIABLE}=${value}`
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const owned = await Promise.all(
    pids.map(async (pid) => {
      // Processes of other users, and processes that have ended, are skipped.
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return environment.split('\0').includes(line)
    }),
  )
  return pids.filter((_, at) => owned[at]).map(Number)
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    kill(pid, name)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** The ID of the current boot; no process survives its change. `unknown` if the kernel has no such file. */
export async function bootId(): Promise<string> {
  return (await readText('/proc/sys/kernel/random/boot_id'))?.trim() ?? 'unknown'
}

/** The text of a file; undefined if it does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** The modification time; undefined if the file does not exist. */
export async function timeOf(path: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(path)).mtimeMs)
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

export function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR'
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

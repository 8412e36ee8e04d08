// Starts `pawl dev` in the background and stops it. The background process is called the supervisor: it starts the
// servers of a data folder and stops them when it ends.

import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { childEnvironment } from '../server/config.ts'
import type { Progress } from './obtain.ts'
import { isRunning, signal, type ProcessIdentity } from '../server/process-identity.ts'
import { readState, type DevState } from './state.ts'

const POLL_MS = 200
/** The supervisor gets this time after SIGTERM to stop its servers; then it is killed. */
const STOP_LIMIT_MS = 90_000

/**
 * Starts `pawl dev` as a background process and waits until it has written its state file, which it does when all
 * servers are ready. The output goes to `dev.log` in the data folder's logs, and each complete line to `progress`.
 *
 * @param command the arguments of `node`: the module of `pawl dev` and its flags.
 * @throws an Error if the process ends first; the log explains why.
 */
export async function startDetached(
  dataDir: string,
  command: readonly string[],
  progress: Progress,
): Promise<DevState> {
  const logs = join(dataDir, 'logs')
  await mkdir(logs, { recursive: true, mode: 0o700 })
  const logFile = join(logs, 'dev.log')
  const before = await stat(logFile).then(
    ({ size }) => size,
    () => 0,
  )
  const log = openSync(logFile, 'a', 0o600)
  const child = spawn(process.execPath, [...command], {
    detached: true,
    stdio: ['ignore', log, log],
    env: childEnvironment(),
  })
  closeSync(log)
  let end: string | undefined
  child.once('error', (error) => (end = error.message))
  child.once('exit', (code, name) => (end = code === null ? `${name}` : `exit code ${code}`))

  const showNew = tail(logFile, before, progress)
  for (;;) {
    await sleep(POLL_MS)
    // Read before the log: a process that has ended writes no more lines.
    const ended = end
    await showNew()
    const state = await readState(dataDir)
    if (state !== undefined && state.supervisor.pid === child.pid) {
      child.unref()
      return state
    }
    if (ended !== undefined)
      throw new Error(`pawl dev ended with ${ended} before all was ready; its output is above and in ${logFile}`)
  }
}

/**
 * Stops the servers of a data folder and waits until the supervisor has ended.
 *
 * @returns false if no supervisor runs.
 * @throws an Error if the supervisor had to be killed.
 */
export async function stopDetached(dataDir: string): Promise<boolean> {
  const supervisor = (await readState(dataDir))?.supervisor ?? (await lockHolder(dataDir))
  if (supervisor === undefined || !isRunning(supervisor)) return false
  signal(supervisor, 'SIGTERM')
  const deadline = Date.now() + STOP_LIMIT_MS
  while (isRunning(supervisor)) {
    if (Date.now() > deadline) {
      // The guard process (guard-client.ts) notices the death of the supervisor and kills its servers.
      signal(supervisor, 'SIGKILL')
      throw new Error(
        `pawl dev (process ${supervisor.pid}) still ran ${STOP_LIMIT_MS / 1000} s after SIGTERM and was killed`,
      )
    }
    await sleep(POLL_MS)
  }
  return true
}

/** The process in the lock file. A `pawl dev` that is still starting has a lock file but no state file yet. */
async function lockHolder(dataDir: string): Promise<ProcessIdentity | undefined> {
  const file = await open(join(dataDir, 'lock')).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    return JSON.parse(await file.readFile('utf8')) as ProcessIdentity
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}

/** Returns a function that passes the lines that were added to the file since its last call to `progress`. */
function tail(logFile: string, from: number, progress: Progress): () => Promise<void> {
  let position = from
  let rest = ''
  return async () => {
    const file = await open(logFile)
    try {
      const { size } = await file.stat()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - position), 0, size - position, position)
      position += bytesRead
      const lines = (rest + buffer.toString('utf8', 0, bytesRead)).split('\n')
      rest = lines.pop() ?? ''
      lines.forEach(progress)
    } finally {
      await file.close()
    }
  }
}

// A lock file between processes of one machine; it names the process that holds it.
//
//   K1. A lock whose holder is dead is removed, by one process only.
//   K2. No process removes a lock that it did not inspect.

import { mkdir, open, readFile, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { identify, isRunning, type ProcessIdentity } from '../server/process-identity.ts'

const POLL_MS = 200
/** A holder writes its identity within milliseconds. After this time an empty lock file counts as dead. */
const UNNAMED_LIMIT_MS = 5000

export interface LockOptions {
  /** Called once, when another process holds the lock. */
  readonly onWait?: (holder: number | undefined) => void
  /** How long to wait for the holder; 0 fails at once. */
  readonly waitMs?: number
}

/**
 * Runs the work while holding the lock file.
 *
 * @throws LockHeldError when the lock is not free within `waitMs` (default: one hour).
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const release = await takeLock(path, options)
  try {
    return await work()
  } finally {
    await release()
  }
}

/** Takes the lock; the answer releases it. See `withLock`. */
export async function takeLock(path: string, options: LockOptions = {}): Promise<() => Promise<void>> {
  await mkdir(dirname(path), { recursive: true })
  const deadline = Date.now() + (options.waitMs ?? 3_600_000)
  let isReported = false

  for (;;) {
    if (await createLock(path)) return () => unlink(path).catch(() => undefined)

    const holder = await readHolder(path)
    if (holder === 'stale') {
      await breakLock(path)
      continue
    }
    if (Date.now() >= deadline) throw new LockHeldError(path, holder?.pid)
    if (!isReported) options.onWait?.(holder?.pid)
    isReported = true
    await sleep(POLL_MS)
  }
}

export class LockHeldError extends Error {
  readonly path: string
  readonly pid: number | undefined

  constructor(path: string, pid: number | undefined) {
    super(`lock ${path} is held by process ${pid ?? 'unknown'}; expected it to be free`)
    this.path = path
    this.pid = pid
  }
}

async function createLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(JSON.stringify(identify(process.pid)))
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function readHolder(path: string): Promise<ProcessIdentity | 'stale' | undefined> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)])
    if (text === '') return Date.now() - mtimeMs > UNNAMED_LIMIT_MS ? 'stale' : undefined
    const holder = JSON.parse(text) as ProcessIdentity
    return isRunning(holder) ? holder : 'stale'
  } catch (error) {
    // The lock was released meanwhile, or a crash truncated the file.
    return error instanceof SyntaxError ? 'stale' : undefined
  }
}

/** K1, K2: a folder next to the lock lets one process inspect and remove the lock; a folder left by a crash expires. */
async function breakLock(path: string): Promise<void> {
  const guard = `${path}.break`
  try {
    await mkdir(guard)
  } catch {
    const age = await stat(guard).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    )
    if (age > UNNAMED_LIMIT_MS) await rmdir(guard).catch(() => undefined)
    await sleep(POLL_MS)
    return
  }
  try {
    if ((await readHolder(path)) === 'stale') await unlink(path).catch(() => undefined)
  } finally {
    await rmdir(guard)
  }
}

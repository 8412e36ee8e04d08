// Watches the servers of one data folder together, restarts those that end by themselves, and stops all together.
//
//   V1. A server belongs to the group as soon as its process exists, so it is stopped if a later step fails.
//   V2. Servers stop in reverse order of their start: clients before the servers that they use. A restarted server keeps its place.
//   V3. A server that is added while the group stops is stopped at once.
//   V4. With `restarts`, a server that was ready and then ends is started again with the same arguments and data, after a delay that doubles. A server that
//       ends MAX_ENDS times within WINDOW_MS, or before it was ready for the first time, is a failure.
//   V5. A restart that fails for a reason other than the end of its server, such as a full disk, is a failure of the group.

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { startGuard } from './guard-client.ts'
import { PartDiedError, startPart, type Part } from './part.ts'

export interface Group {
  readonly parts: readonly Part[]
  /** @param onEnd called if the server ends by itself and is not restarted; then the group continues. */
  readonly add: (part: Part, onEnd?: (error: PartDiedError) => void) => void
  /** Stops one server; the group continues. */
  readonly drop: (part: Part) => Promise<void>
  /**
   * Removes a folder when the group stops, or when this process dies.
   *
   * @param remainingAfterFailure entries of the folder that stay after a failure, such as logs.
   */
  readonly removeAtEnd: (dir: string, remainingAfterFailure?: readonly string[]) => void
  /** Resolves with a PartDiedError when a server ends that the group neither stopped nor restarts; with another error when a restart fails. */
  readonly failure: Promise<Error>
  /** Stops all servers, then removes the folders; can be called again. @param how `failed`: keeps what is useful after a failure. */
  readonly stop: (how?: 'failed') => Promise<void>
}

export interface Restarts {
  /** Receives one line per restart, after `onRestart`. */
  readonly progress: (line: string) => void
  /** Called after a restart, with the new processes in `parts`. */
  readonly onRestart: () => Promise<void>
  /** The delay before the first restart within WINDOW_MS; default FIRST_DELAY_MS. */
  readonly firstDelayMs?: number
}

/** V4 */
const MAX_ENDS = 5
const WINDOW_MS = 60_000
const FIRST_DELAY_MS = 250

/** @param restarts undefined: a server that ends is a failure. */
export async function startGroup(restarts?: Restarts): Promise<Group> {
  const parts: Part[] = []
  const folders: { readonly dir: string; readonly remaining: readonly string[] }[] = []
  const guard = await startGuard()
  let stopping: Promise<void> | undefined
  let report: (error: Error) => void = () => undefined
  const failure = new Promise<Error>((resolve) => (report = resolve))
  const endsOf = createEndCounter()

  /** @param before the ended process that this one replaces. */
  const register = (part: Part, before?: Part) => {
    // V1
    guard.watch(part.identity)
    const index = before === undefined ? -1 : parts.indexOf(before)
    if (index >= 0) parts[index] = part
    else parts.push(part)
    if (stopping !== undefined) void part.stop()
  }
  const isCurrent = (part: Part) => stopping === undefined && parts.includes(part)

  const watch = (part: Part, onEnd: (error: PartDiedError) => void): void => {
    void part.ended.then(async (how) => {
      if (!isCurrent(part)) return
      if (restarts === undefined || !part.wasReady()) {
        onEnd(await PartDiedError.of(part.spec, how))
        return
      }
      try {
        const started = await restart(part, how, { ...restarts, register, isCurrent, endsOf })
        if (started !== undefined) watch(started, onEnd)
      } catch (error) {
        if (error instanceof PartDiedError) onEnd(error)
        // V5
        else report(restartError(part.spec.name, how, error))
      }
    })
  }
  const add: Group['add'] = (part, onEnd = report) => {
    register(part)
    watch(part, onEnd)
  }
  const drop = async (part: Part) => {
    const index = parts.indexOf(part)
    if (index >= 0) parts.splice(index, 1)
    await part.stop()
  }
  const removeAtEnd: Group['removeAtEnd'] = (dir, remaining = []) => {
    folders.push({ dir, remaining })
    guard.remove(dir)
  }
  const stopAll = async (how?: 'failed') => {
    // V2, V3: the list may grow meanwhile.
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await part.stop()
    for (const { dir, remaining } of folders) await removeFolder(dir, how === 'failed' ? remaining : [])
    guard.release()
  }
  return { parts, add, drop, removeAtEnd, failure, stop: (how) => (stopping ??= stopAll(how)) }
}

/** The state of the group that a restart needs. */
interface RestartScope extends Restarts {
  readonly register: (part: Part, before: Part) => void
  /** Whether the group still wants this server. */
  readonly isCurrent: (part: Part) => boolean
  /** Counts an end of the server. */
  readonly endsOf: (name: string) => number
}

/** Restarts an ended server until it is ready (V4). @returns undefined if the group no longer wants it. */
async function restart(part: Part, how: string, scope: RestartScope): Promise<Part | undefined> {
  const { progress, onRestart, firstDelayMs, register, isCurrent, endsOf } = scope
  const { spec } = part
  let current = part
  for (let last = how; ;) {
    const ends = endsOf(spec.name)
    if (ends >= MAX_ENDS)
      throw await PartDiedError.of(spec, `${last}, for the ${MAX_ENDS}th time within ${WINDOW_MS / 1000} s`)
    await sleep((firstDelayMs ?? FIRST_DELAY_MS) * 2 ** (ends - 1))
    if (!isCurrent(current)) return undefined
    try {
      const started = await startPart(spec, (next) => {
        register(next, current)
        current = next
      })
      await onRestart()
      progress(`${spec.name} ${how}; started again (log: ${spec.logFile})`)
      return started
    } catch (error) {
      if (!isCurrent(current)) return undefined
      if (!(error instanceof PartDiedError)) throw error
      last = error.how
    }
  }
}

function restartError(name: string, how: string, cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new Error(`${name} ${how}; its restart failed: ${message}`, { cause })
}

/** Returns a function that counts one more end of a server, and returns the number of its ends within WINDOW_MS. */
function createEndCounter(): (name: string) => number {
  const ends = new Map<string, readonly number[]>()
  return (name) => {
    const now = Date.now()
    const recent = [...(ends.get(name) ?? []).filter((at) => at > now - WINDOW_MS), now]
    ends.set(name, recent)
    return recent.length
  }
}

async function removeFolder(dir: string, remaining: readonly string[]): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }
  if (remaining.length === 0) {
    await rm(dir, options)
    return
  }
  const entries = await readdir(dir).catch((): string[] => [])
  for (const entry of entries.filter((one) => !remaining.includes(one))) await rm(join(dir, entry), options)
}

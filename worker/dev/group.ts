// Watches the servers of one data folder together and stops them together.
//
//   V1. A server belongs to the group as soon as its process exists, so it is stopped if a later step fails.
//   V2. Servers stop in reverse order of their start: clients before the servers that they use.
//   V3. A server that is added while the group stops is stopped at once.

import { rm } from 'node:fs/promises'

import { startGuard } from './guard-client.ts'
import { PartDiedError, type Part } from './part.ts'

export interface Group {
  readonly parts: readonly Part[]
  /** @param onEnd called if the server ends by itself; then the group continues. */
  readonly add: (part: Part, onEnd?: (error: PartDiedError) => void) => void
  /** Stops one server; the group continues. */
  readonly drop: (part: Part) => Promise<void>
  /** Removes a folder when the group stops, or when this process dies. */
  readonly removeAtEnd: (dir: string) => void
  /** Resolves when a server ends that the group did not stop. */
  readonly failure: Promise<PartDiedError>
  /** Stops all servers, then removes the folders; can be called again. */
  readonly stop: () => Promise<void>
}

export async function startGroup(): Promise<Group> {
  const parts: Part[] = []
  const folders: string[] = []
  const guard = await startGuard()
  let stopping: Promise<void> | undefined
  let report: (error: PartDiedError) => void = () => undefined
  const failure = new Promise<PartDiedError>((resolve) => (report = resolve))

  const dropped = new Set<Part>()
  const add: Group['add'] = (part, onEnd = report) => {
    // V1
    guard.watch(part.identity)
    parts.push(part)
    if (stopping !== undefined) void part.stop()
    void part.ended.then(async (how) => {
      if (stopping !== undefined || dropped.has(part)) return
      onEnd(await PartDiedError.of(part.spec, how))
    })
  }
  const drop = async (part: Part) => {
    dropped.add(part)
    const index = parts.indexOf(part)
    if (index >= 0) parts.splice(index, 1)
    await part.stop()
  }
  const removeAtEnd = (dir: string) => {
    folders.push(dir)
    guard.remove(dir)
  }
  const stopAll = async () => {
    // V2, V3: the list may grow meanwhile.
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await part.stop()
    for (const dir of folders) await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    guard.release()
  }
  return { parts, add, drop, removeAtEnd, failure, stop: () => (stopping ??= stopAll()) }
}

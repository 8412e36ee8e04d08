// The parts of one set, watched together and stopped together.
//
//   V1. A part belongs to the group from the moment its process exists, so whatever fails while it comes up, it is stopped.
//   V2. Parts stop in the reverse order of their start: clients before the servers that they talk to.
//   V3. A part that comes while the group stops is stopped at once.

import { rm } from 'node:fs/promises'

import { startGuard } from './guard-client.ts'
import { PartDiedError, type Part } from './part.ts'

export interface Group {
  readonly parts: readonly Part[]
  /** @param onEnd told when the part ends by itself, in place of the group, which goes on. */
  readonly add: (part: Part, onEnd?: (error: PartDiedError) => void) => void
  /** Stops one part; the group goes on. */
  readonly drop: (part: Part) => Promise<void>
  /** Has a folder removed when the group stops, or when this process dies. */
  readonly removeAtEnd: (dir: string) => void
  /** Resolves when a part ends that nobody stopped. */
  readonly failure: Promise<PartDiedError>
  /** Stops every part, then removes the folders; repeatable. */
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

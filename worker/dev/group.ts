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
  readonly add: (part: Part) => void
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

  const add = (part: Part) => {
    // V1
    guard.watch(part.identity)
    parts.push(part)
    if (stopping !== undefined) void part.stop()
    void part.ended.then(async (how) => {
      if (stopping === undefined) report(await PartDiedError.of(part.spec, how))
    })
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
  return { parts, add, removeAtEnd, failure, stop: () => (stopping ??= stopAll()) }
}

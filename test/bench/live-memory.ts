// What a Node process really holds: its heaps after a garbage collection, and what they hold outside. The memory that the kernel sees has the
// garbage in it, too, of which V8 lets as much gather as it likes on a machine with room.

import { type Inspector, type Session, ThreadEnded } from './inspector.ts'

const MIB = 1024 * 1024
// What the first collection finalises, the second frees.
const COLLECTIONS = 2

interface Evaluated {
  readonly result: { readonly value?: unknown }
}

/** MiB in all threads of the process. Stops each for some 50 ms. */
export async function liveMiB(inspector: Inspector): Promise<number> {
  let bytes = 0
  for (const session of inspector.sessions) {
    bytes += await liveBytes(session).catch((error: unknown) => {
      // One that has ended meanwhile holds nothing.
      if (error instanceof ThreadEnded) return 0
      throw error
    })
  }
  return bytes / MIB
}

async function liveBytes(session: Session): Promise<number> {
  for (let collection = 0; collection < COLLECTIONS; collection++) await session.call('HeapProfiler.collectGarbage')
  const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
  const { result } = (await session.call('Runtime.evaluate', { expression })) as Evaluated
  if (typeof result.value !== 'number')
    throw new Error(`live memory of ${session.thread}: found ${typeof result.value}, expected a number of bytes`)
  return result.value
}

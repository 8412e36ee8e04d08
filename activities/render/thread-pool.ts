// A fixed number of places for worker threads. A thread starts with the first work that needs its place and stays until work fails
// on it, or until its work says that it is worn.

import type { BoundedThread } from './bounded-thread.ts'

export interface ThreadPool {
  /**
   * Does work on a free thread, which `start` makes where there is none yet; work beyond the number of places waits its turn.
   *
   * @throws what the work throws; the thread is then replaced.
   */
  use<T>(start: () => BoundedThread, work: (thread: BoundedThread) => Promise<ThreadWork<T>>): Promise<T>
  /** Stops all threads; work in flight fails, later work is refused. */
  close(): Promise<void>
}

export interface ThreadWork<T> {
  readonly answer: T
  /** The thread should not be used again. */
  readonly worn: boolean
}

interface Slot {
  thread: BoundedThread | undefined
}

/** `name` names the pool in the error after its close. */
export function createThreadPool(name: string, places: number): ThreadPool {
  const free: Slot[] = Array.from({ length: places }, () => ({ thread: undefined }))
  const all = [...free]
  const queue: ((slot: Slot) => void)[] = []
  let closed = false

  const acquire = () => {
    const slot = free.pop()
    return slot === undefined ? new Promise<Slot>((resolve) => queue.push(resolve)) : slot
  }
  const release = (slot: Slot) => {
    const next = queue.shift()
    if (next === undefined) free.push(slot)
    else next(slot)
  }

  return {
    async use(start, work) {
      const slot = await acquire()
      try {
        if (closed) throw new Error(`${name}: found closed, expected open`)
        return await useSlot(slot, start, work)
      } finally {
        release(slot)
      }
    },
    async close() {
      closed = true
      await Promise.all(all.map((slot) => stopThread(slot)))
    },
  }
}

async function useSlot<T>(
  slot: Slot,
  start: () => BoundedThread,
  work: (thread: BoundedThread) => Promise<ThreadWork<T>>,
): Promise<T> {
  // No await before the thread is in its slot: `close` must find it.
  slot.thread ??= start()
  try {
    const { answer, worn } = await work(slot.thread)
    if (worn) await stopThread(slot)
    return answer
  } catch (error) {
    await stopThread(slot)
    throw error
  }
}

async function stopThread(slot: Slot): Promise<void> {
  const thread = slot.thread
  slot.thread = undefined
  await thread?.stop()
}

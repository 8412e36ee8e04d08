// Places for worker threads. A thread starts with the first work that needs its place and stays until work fails on it, or until its work
// says that it is worn.
//
//   P1. Work waits while all places are taken, the oldest first.
//   P2. Work that holds its place long does not hold up the rest: whoever has waited for a while gets a spare place. There are a few of
//       them, each for one piece of work, so that somebody's endless template delays nobody else's.

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
  readonly isSpare: boolean
}

export interface Places {
  /** Places whose threads are kept. */
  readonly kept: number
  readonly spare: number
}

/** What takes longer than this is slow: nearly all work is done in less. */
const PATIENCE_MS = 300

/** `name` names the pool in the error after its close. */
export function createThreadPool(name: string, { kept, spare }: Places): ThreadPool {
  const free = Array.from({ length: kept }, (): Slot => ({ thread: undefined, isSpare: false }))
  const all = new Set(free)
  const queue: ((slot: Slot) => void)[] = []
  let spares = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const acquire = () => {
    const slot = free.pop()
    if (slot !== undefined) return slot
    const wait = new Promise<Slot>((resolve) => queue.push(resolve))
    watch()
    return wait
  }
  // Counts from the last time that a place came free or was added: then the queue moves.
  const watch = () => {
    clearTimeout(timer)
    if (queue.length > 0 && spares < spare) timer = setTimeout(addSpare, PATIENCE_MS).unref()
  }
  const addSpare = () => {
    const next = queue.shift()
    if (next === undefined) return
    const slot: Slot = { thread: undefined, isSpare: true }
    spares += 1
    all.add(slot)
    next(slot)
    watch()
  }
  const release = async (slot: Slot) => {
    const next = queue.shift()
    if (next !== undefined) next(slot)
    else if (slot.isSpare) {
      await stopThread(slot)
      all.delete(slot)
      spares -= 1
    } else free.push(slot)
    watch()
  }

  return {
    async use(start, work) {
      const slot = await acquire()
      try {
        if (closed) throw new Error(`${name}: found closed, expected open`)
        return await useSlot(slot, start, work)
      } finally {
        await release(slot)
      }
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await Promise.all([...all].map((slot) => stopThread(slot)))
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

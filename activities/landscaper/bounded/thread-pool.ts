// Places for worker threads. A thread starts with the first work that needs its place and stays until work fails on it, or until its work
// says that it is worn.
//
//   P1. Work waits while all places are taken. A place goes to the namespace that holds fewest, of equal ones to the one that has waited longest
//       since its turn; within a namespace to the oldest.
//   P2. Work that holds its place long does not hold up the rest: whoever has waited for a while gets a spare place. There are a few of
//       them, each for one piece of work, so that somebody's endless template delays nobody else's.
//   P3. No namespace holds all places: the last one is for somebody else.
//   P4. Work that nobody wants any more leaves the line, or its place: its thread is stopped in the midst of it.

import type { BoundedThread } from './bounded-thread.ts'
import { WaitingLine } from './waiting-line.ts'

export interface ThreadPool {
  /**
   * Does work on a free thread, which `start` makes where there is none yet; work beyond the number of places waits its turn.
   *
   * @throws what the work throws; the thread is then replaced. The signal's reason when it is aborted.
   */
  use<T>(
    start: () => BoundedThread,
    work: (thread: BoundedThread) => Promise<ThreadWork<T>>,
    customer: Customer,
  ): Promise<T>
  /** Stops all threads; work in flight fails, later work is refused. */
  close(): Promise<void>
}

/** For whom work is done. */
export interface Customer {
  /** Whose data it is done on. */
  readonly namespace: string
  /** Aborted when nobody waits for it any more. */
  readonly signal?: AbortSignal | undefined
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
  const line = new WaitingLine<Slot>(Math.max(1, kept + spare - 1))
  let timer: NodeJS.Timeout | undefined
  let [spares, closed] = [0, false]

  // Counts from the last time that a place came free or was added, not from the last that came to wait.
  const watch = (isMoving = false) => {
    const isNeeded = line.hasNext && spares < spare
    if (isMoving || !isNeeded) clearTimeout(timer)
    if (isMoving || !isNeeded) timer = undefined
    if (isNeeded) timer ??= setTimeout(addSpare, PATIENCE_MS).unref()
  }
  const addSpare = () => {
    if (line.hasNext) {
      const slot: Slot = { thread: undefined, isSpare: true }
      spares += 1
      all.add(slot)
      line.give(slot)
    }
    watch(true)
  }
  const serve = () => {
    while (free.length > 0 && line.hasNext) line.give(free.pop() as Slot)
  }
  const acquire = async ({ namespace, signal }: Customer) => {
    const place = line.enter(namespace, signal)
    serve()
    watch()
    return await place
  }
  const release = async (slot: Slot, { namespace }: Customer) => {
    line.giveBack(namespace)
    if (!slot.isSpare) free.push(slot)
    else if (line.hasNext) line.give(slot)
    else {
      await stopThread(slot)
      all.delete(slot)
      spares -= 1
    }
    serve()
    watch(true)
  }

  return {
    async use(start, work, customer) {
      const slot = await acquire(customer)
      try {
        if (closed) throw new Error(`${name}: found closed, expected open`)
        customer.signal?.throwIfAborted()
        return await useSlot(slot, start, { work, signal: customer.signal })
      } finally {
        await release(slot, customer)
      }
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await Promise.all([...all].map((slot) => stopThread(slot)))
    },
  }
}

interface Use<T> {
  readonly work: (thread: BoundedThread) => Promise<ThreadWork<T>>
  readonly signal: AbortSignal | undefined
}

async function useSlot<T>(slot: Slot, start: () => BoundedThread, { work, signal }: Use<T>): Promise<T> {
  // No await before the thread is in its slot: `close` must find it.
  slot.thread ??= start()
  const abort = () => void stopThread(slot)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const { answer, worn } = await work(slot.thread)
    if (worn) await stopThread(slot)
    return answer
  } catch (error) {
    await stopThread(slot)
    // Its thread did not die by itself.
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

async function stopThread(slot: Slot): Promise<void> {
  const thread = slot.thread
  slot.thread = undefined
  await thread?.stop()
}

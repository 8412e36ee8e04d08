// A pool of worker threads, shared fairly by namespaces. A thread starts with the first work in its slot. It stays until work fails on it, or until
// the work asks for a new thread.
//
//   P1. Work waits while all slots are taken. A free slot goes to the namespace that holds the fewest slots, among equal ones to the namespace that
//       was served least recently; within a namespace to the oldest request.
//   P2. When no slot has become free for SPARE_DELAY_MS, the next request gets a spare slot. A spare slot serves one request. So one tenant's endless
//       template does not delay the others.
//   P3. No namespace holds all slots: the last one is reserved for other namespaces.
//   P4. Aborted work leaves the queue, or its thread is stopped.

import type { BoundedThread } from './bounded-thread.ts'

export interface ThreadPool {
  /**
   * Does work on a free thread. `start` creates the thread if the slot has none.
   *
   * @throws errors of the work, after which the thread is replaced; the signal's reason when it is aborted.
   */
  use<T>(
    start: () => BoundedThread,
    work: (thread: BoundedThread) => Promise<WorkResult<T>>,
    tenant: Tenant,
  ): Promise<T>
  /** Stops all threads; work in progress fails, later work is refused. */
  close(): Promise<void>
}

/** The tenant for whom work is done, and how long. */
export interface Tenant {
  /** The namespace of the data. */
  readonly namespace: string
  /** Aborted when the caller no longer waits for the result. */
  readonly signal?: AbortSignal | undefined
}

export interface WorkResult<T> {
  readonly answer: T
  /** The thread must not be used again. */
  readonly replaceThread: boolean
}

interface Slot {
  thread: BoundedThread | undefined
  readonly isSpare: boolean
}

export interface PoolSize {
  /** Slots whose threads are kept. */
  readonly permanent: number
  readonly spare: number
}

/** Nearly all work takes less time. */
const SPARE_DELAY_MS = 300

/** @param name of the pool in the error after `close`. */
export function createThreadPool(name: string, { permanent, spare }: PoolSize): ThreadPool {
  const free = Array.from({ length: permanent }, (): Slot => ({ thread: undefined, isSpare: false }))
  const all = new Set(free)
  const queue = new FairQueue<Slot>(Math.max(1, permanent + spare - 1))
  let timer: NodeJS.Timeout | undefined
  let [spares, isClosed] = [0, false]

  // The timer starts when a slot was last freed or added, not when the last request arrived.
  const scheduleSpare = (hasProgress = false) => {
    const isNeeded = queue.hasNext && spares < spare
    if (hasProgress || !isNeeded) clearTimeout(timer)
    if (hasProgress || !isNeeded) timer = undefined
    if (isNeeded) timer ??= setTimeout(addSpare, SPARE_DELAY_MS).unref()
  }
  const addSpare = () => {
    if (queue.hasNext) {
      const slot: Slot = { thread: undefined, isSpare: true }
      spares += 1
      all.add(slot)
      queue.grant(slot)
    }
    scheduleSpare(true)
  }
  const grantFree = () => {
    while (free.length > 0 && queue.hasNext) queue.grant(free.pop() as Slot)
  }
  const acquire = async ({ namespace, signal }: Tenant) => {
    const slot = queue.wait(namespace, signal)
    grantFree()
    scheduleSpare()
    return await slot
  }
  const release = async (slot: Slot, { namespace }: Tenant) => {
    queue.release(namespace)
    if (!slot.isSpare) free.push(slot)
    else if (queue.hasNext) queue.grant(slot)
    else {
      await stopThread(slot)
      all.delete(slot)
      spares -= 1
    }
    grantFree()
    scheduleSpare(true)
  }

  return {
    async use(start, work, tenant) {
      const slot = await acquire(tenant)
      try {
        if (isClosed) throw new Error(`${name}: found closed; expected open`)
        tenant.signal?.throwIfAborted()
        return await useSlot(slot, start, { work, signal: tenant.signal })
      } finally {
        await release(slot, tenant)
      }
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await Promise.all([...all].map((slot) => stopThread(slot)))
    },
  }
}

interface Use<T> {
  readonly work: (thread: BoundedThread) => Promise<WorkResult<T>>
  readonly signal: AbortSignal | undefined
}

async function useSlot<T>(slot: Slot, start: () => BoundedThread, { work, signal }: Use<T>): Promise<T> {
  // No await before the thread is stored in its slot: `close` must find it.
  slot.thread ??= start()
  const abort = () => void stopThread(slot)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const { answer, replaceThread } = await work(slot.thread)
    if (replaceThread) await stopThread(slot)
    return answer
  } catch (error) {
    await stopThread(slot)
    // The thread was stopped by the signal; its error is only a consequence.
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

interface Waiter<Item> {
  readonly resolve: (slot: Item) => void
}

/** Hands out slots to waiting requests, fairly by namespace (P1, P3). */
class FairQueue<Item> {
  /** Requests by namespace; the namespace that was served least recently comes first. */
  readonly #waiting = new Map<string, Set<Waiter<Item>>>()
  readonly #held = new Map<string, number>()
  readonly #maxPerNamespace: number

  /** @param maxPerNamespace slots that one namespace may hold. */
  constructor(maxPerNamespace: number) {
    this.#maxPerNamespace = maxPerNamespace
  }

  /** Whether a waiting namespace may get another slot. */
  get hasNext(): boolean {
    return this.#next() !== undefined
  }

  /** Waits for a slot, which the caller has to release. Rejects with the signal's reason when the signal is aborted. */
  async wait(namespace: string, signal: AbortSignal | undefined): Promise<Item> {
    signal?.throwIfAborted()
    return await new Promise<Item>((resolve, reject) => {
      const abort = () => {
        this.#remove(namespace, waiter)
        reject(signal?.reason as Error)
      }
      const waiter: Waiter<Item> = {
        resolve: (slot) => {
          signal?.removeEventListener('abort', abort)
          resolve(slot)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      const others = this.#waiting.get(namespace)
      if (others === undefined) this.#waiting.set(namespace, new Set([waiter]))
      else others.add(waiter)
    })
  }

  /** Grants a slot to the next request; `hasNext` must be true. */
  grant(slot: Item): void {
    const namespace = this.#next()
    const [waiter] = (namespace === undefined ? undefined : this.#waiting.get(namespace)) ?? []
    if (namespace === undefined || waiter === undefined) throw new Error('found nobody who waits; expected somebody')
    this.#remove(namespace, waiter)
    const others = this.#waiting.get(namespace)
    if (others !== undefined) {
      this.#waiting.delete(namespace)
      this.#waiting.set(namespace, others)
    }
    this.#held.set(namespace, this.#heldIn(namespace) + 1)
    waiter.resolve(slot)
  }

  release(namespace: string): void {
    const held = this.#heldIn(namespace) - 1
    if (held === 0) this.#held.delete(namespace)
    else this.#held.set(namespace, held)
  }

  #next(): string | undefined {
    let next: string | undefined
    for (const namespace of this.#waiting.keys()) {
      const held = this.#heldIn(namespace)
      if (held < this.#maxPerNamespace && (next === undefined || held < this.#heldIn(next))) next = namespace
    }
    return next
  }

  #heldIn(namespace: string): number {
    return this.#held.get(namespace) ?? 0
  }

  #remove(namespace: string, waiter: Waiter<Item>): void {
    const waiting = this.#waiting.get(namespace)
    waiting?.delete(waiter)
    if (waiting?.size === 0) this.#waiting.delete(namespace)
  }
}

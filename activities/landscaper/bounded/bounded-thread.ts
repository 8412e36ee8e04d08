// A worker thread or child process (bounded-process.ts) that answers one request at a time, with limits for time and memory. After a time-out,
// exhausted memory or a crash it is not used again, and the caller starts another one. The worker posts one message when it is ready (with its
// `threadID`), then one message for each request.
//
//   T1. A request that takes longer than SLOW_AFTER_MS continues at a lower priority, so a few endless requests do not starve the rest of the
//       process.

import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type CpuClock, whenCpuTimeUsed } from './cpu-time.ts'

// The limit covers the JavaScript heap only: WebAssembly modules have their own limit (deploy/templates/build.ts), and requests and replies are
// stored outside of the heap.
export const HEAP_LIMIT_MIB = 64

/** Nearly all requests need less CPU time. */
const SLOW_AFTER_MS = 1000

/** A limit by the wall clock: a request that has not used its CPU time by then runs on an overloaded machine, which is not the author's mistake. */
const MAX_WALL_CLOCK_MS = 60_000

export type ThreadEnd = 'timeout' | 'memory' | 'crash'

/** The thread ended before it answered. */
export class ThreadEnded extends Error {
  readonly reason: ThreadEnd
  /** Of a crash: the rest of a sentence about the thread or process, e.g. `exited with code 1`. It contains no text of a tenant. */
  readonly detail: string

  constructor(reason: ThreadEnd, detail = 'ended without an answer; the worker tries again') {
    super(`bounded work: ended by ${reason}: ${detail}`)
    this.name = 'ThreadEnded'
    this.reason = reason
    this.detail = detail
  }
}

export interface BoundedThread {
  /** The thread's priority was lowered for good: replace the thread after its answer. */
  readonly isSlow: boolean
  /**
   * Answers one request. The time limit counts from the moment when the thread is ready.
   *
   * @throws ThreadEnded; the thread has ended, or the caller has to stop it.
   */
  run(request: unknown, timeoutMs: number): Promise<unknown>
  stop(): Promise<void>
}

/** The operations in which a thread and a process differ. */
export interface WorkerHandle {
  post(request: unknown, timeoutMs: number): void
  readonly time: CpuClock
  /** A request is pending, so the worker keeps the process alive. */
  ref(): void
  unref(): void
  stop(): Promise<void>
}

/** Called by the worker with its replies and its end. */
export interface WorkerCallbacks {
  readonly message: (reply: unknown) => void
  readonly end: (reason: ThreadEnd, detail?: string) => void
}

type PendingReply = { resolve: (reply: unknown) => void; reject: (error: unknown) => void }

/** Starts a thread with empty environment and arguments. An idle thread does not keep the process alive. */
export function startThread(file: URL, workerData?: unknown, heapLimitMiB = HEAP_LIMIT_MIB): BoundedThread {
  return createBoundedThread(({ message, end }) => {
    const worker = new Worker(file, {
      workerData,
      env: {},
      argv: [],
      // node:wasi prints on stderr that it is experimental.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Separate streams without a reader, because a reader would keep the process alive. The template engine drops its own prints before.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMiB },
    })
    worker.on('message', message)
    worker.on('error', (error) => end(isHeapExhausted(error) ? 'memory' : 'crash'))
    worker.on('exit', () => end('crash'))
    return {
      post: (request) => worker.postMessage(request),
      time: () => cpuTimeMs(worker),
      ref: () => worker.ref(),
      unref: () => worker.unref(),
      stop: async () => {
        await worker.terminate()
      },
    }
  })
}

/** The part that threads and processes share: pending request, time limits and priority. */
export function createBoundedThread(start: (arrivals: WorkerCallbacks) => WorkerHandle): BoundedThread {
  let waiter: PendingReply | undefined
  const settle = (act: (waiting: PendingReply) => void) => {
    const waiting = waiter
    waiter = undefined
    site.unref()
    if (waiting !== undefined) act(waiting)
  }
  const nextReply = () =>
    new Promise<unknown>((resolve, reject) => {
      waiter = { resolve, reject }
      site.ref()
    })
  // The callbacks are never called before this function returns.
  const site = start({
    message: (reply) => settle(({ resolve }) => resolve(reply)),
    end: (reason, detail) => settle(({ reject }) => reject(new ThreadEnded(reason, detail))),
  })

  let isSlow = false
  const lower = (threadID: number | undefined) => {
    isSlow = true
    try {
      if (threadID !== undefined) setPriority(threadID, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // The thread has just ended, or the system forbids it.
    }
  }

  const ready = nextReply() as Promise<{ threadID?: number }>
  // The first `run` reports the failure; until then it must not count as an unhandled rejection.
  ready.catch(() => undefined)
  return {
    get isSlow() {
      return isSlow
    },
    async run(request, timeoutMs) {
      const { threadID } = await ready
      const reply = nextReply()
      site.post(request, timeoutMs)
      return await withinTime(reply, { time: site.time, timeoutMs, usualOver: () => lower(threadID) })
    },
    stop: () => site.stop(),
  }
}

function isHeapExhausted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

interface Limit {
  readonly time: CpuClock
  readonly timeoutMs: number
  readonly usualOver: () => void
}

async function withinTime(reply: Promise<unknown>, { time, timeoutMs, usualOver }: Limit): Promise<unknown> {
  const over = new AbortController()
  const maxMs = Math.max(MAX_WALL_CLOCK_MS, 2 * timeoutMs)
  void whenCpuTimeUsed(time, SLOW_AFTER_MS, over.signal).then(usualOver, ignore)
  try {
    return await Promise.race([
      reply,
      // If the CPU time cannot be read, the worker has ended, and `reply` rejects.
      whenCpuTimeUsed(time, timeoutMs, over.signal).then(
        () => throwThreadEnded('timeout'),
        () => reply,
      ),
      whenCpuTimeUsed(wallClock, maxMs, over.signal).then(() =>
        throwThreadEnded('crash', `did not answer within ${maxMs / 1000} s; give the worker more CPU`),
      ),
    ])
  } finally {
    over.abort()
    // After a time-out the caller stops the thread, which rejects `reply` a second time.
    reply.catch(ignore)
  }
}

async function cpuTimeMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage()
  return (user + system) / 1000
}

/** The wall clock, in milliseconds, for workers whose CPU time cannot be read. */
export function wallClock(): Promise<number> {
  return Promise.resolve(performance.now())
}

function throwThreadEnded(reason: ThreadEnd, detail?: string): never {
  throw new ThreadEnded(reason, detail)
}

function ignore(): void {
  return undefined
}

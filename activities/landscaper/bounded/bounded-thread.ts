// One worker thread, or process (bounded-process.ts), that answers one request at a time, in bounded time and memory. After a time-out,
// exhausted memory or a crash it is dead for good, and the caller starts another. What runs in it posts one message when it is up (its
// `threadID`), then one per request.
//
//   T1. What takes long goes on at a low priority: a few endless requests must not take the processor from everything else of the process.

import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type ProcessorTime, whenUsed } from './cpu-time.ts'

// JavaScript only: the memory of a WebAssembly module is bounded inside the module (deploy/templates/build.ts). Of the thread's own values:
// what it is asked and what it answers lie outside.
export const HEAP_LIMIT_MIB = 64

/** Nearly all requests are answered in less. */
const USUAL_MS = 1000

/** On the clock: a request that has not used its time by then is nobody's mistake, but that of a machine that has no time for it. */
const LONGEST_WAIT_MS = 60_000

export type ThreadEnd = 'timeout' | 'memory' | 'crash'

/** Why a thread gave no answer. */
export class ThreadEnded extends Error {
  readonly reason: ThreadEnd

  constructor(reason: ThreadEnd) {
    super(`bounded work: ended by ${reason}`)
    this.name = 'ThreadEnded'
    this.reason = reason
  }
}

export interface BoundedThread {
  /** Its priority was lowered, for good: another thread should take its place when it has answered. */
  readonly isSlow: boolean
  /**
   * The answer to one request. The time limit counts from when the thread is up.
   *
   * @throws ThreadEnded; the thread is then dead, or has to be stopped.
   */
  run(request: unknown, timeoutMs: number): Promise<unknown>
  stop(): Promise<void>
}

/** What a thread and a process differ in. */
export interface Worksite {
  post(request: unknown, timeoutMs: number): void
  readonly time: ProcessorTime
  /** Somebody waits for it, so it keeps our process alive. */
  hold(): void
  release(): void
  stop(): Promise<void>
}

/** To be called with what comes from the worksite. */
export interface Arrivals {
  readonly message: (reply: unknown) => void
  readonly end: (reason: ThreadEnd) => void
}

type Waiter = { resolve: (reply: unknown) => void; reject: (error: unknown) => void }

/** Starts a thread without environment and arguments; it does not keep the process alive while it has nothing to do. */
export function startThread(file: URL, workerData?: unknown, heapLimitMiB = HEAP_LIMIT_MIB): BoundedThread {
  return boundedBy(({ message, end }) => {
    const worker = new Worker(file, {
      workerData,
      env: {},
      argv: [],
      // node:wasi announces on stderr that it is experimental.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Kept away from ours and not read, since a reader would keep the process alive; the engine's own prints are dropped before.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMiB },
    })
    worker.on('message', message)
    worker.on('error', (error) => end(isHeapExhausted(error) ? 'memory' : 'crash'))
    worker.on('exit', () => end('crash'))
    return {
      post: (request) => worker.postMessage(request),
      time: () => processorTime(worker),
      hold: () => worker.ref(),
      release: () => worker.unref(),
      stop: async () => {
        await worker.terminate()
      },
    }
  })
}

/** The same for every worksite: who waits, for how long, and at which priority. */
export function boundedBy(start: (arrivals: Arrivals) => Worksite): BoundedThread {
  let waiter: Waiter | undefined
  const settle = (act: (waiting: Waiter) => void) => {
    const waiting = waiter
    waiter = undefined
    site.release()
    if (waiting !== undefined) act(waiting)
  }
  const nextReply = () =>
    new Promise<unknown>((resolve, reject) => {
      waiter = { resolve, reject }
      site.hold()
    })
  // Nothing arrives before this function has returned.
  const site = start({
    message: (reply) => settle(({ resolve }) => resolve(reply)),
    end: (reason) => settle(({ reject }) => reject(new ThreadEnded(reason))),
  })

  let isSlow = false
  const lower = (threadID: number | undefined) => {
    isSlow = true
    try {
      if (threadID !== undefined) setPriority(threadID, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // It has just ended, or the system does not let us.
    }
  }

  const ready = nextReply() as Promise<{ threadID?: number }>
  // Whoever runs first sees the failure; until then it must not count as unhandled.
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
  readonly time: ProcessorTime
  readonly timeoutMs: number
  readonly usualOver: () => void
}

async function withinTime(reply: Promise<unknown>, { time, timeoutMs, usualOver }: Limit): Promise<unknown> {
  const over = new AbortController()
  void whenUsed(time, USUAL_MS, over.signal).then(usualOver, ignore)
  try {
    return await Promise.race([
      reply,
      // Where its time cannot be asked for it has ended, which its waiter is told.
      whenUsed(time, timeoutMs, over.signal).then(
        () => endBy('timeout'),
        () => reply,
      ),
      whenUsed(clock, Math.max(LONGEST_WAIT_MS, 2 * timeoutMs), over.signal).then(() => endBy('crash')),
    ])
  } finally {
    over.abort()
    // After a time-out the thread is stopped, which settles `reply` once more.
    reply.catch(ignore)
  }
}

/** In milliseconds. */
async function processorTime(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage()
  return (user + system) / 1000
}

/** Of what cannot be asked for the time of a processor. */
export function clock(): Promise<number> {
  return Promise.resolve(performance.now())
}

function endBy(reason: ThreadEnd): never {
  throw new ThreadEnded(reason)
}

function ignore(): void {
  return undefined
}

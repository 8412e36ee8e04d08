// One worker thread that answers one request at a time, in bounded time and memory. After a time-out, exhausted memory or a crash it
// is dead for good, and the caller starts another. What runs in it posts one message when it is up (its `threadID`), then one per request.
//
//   T1. What takes long goes on at a low priority: a few endless requests must not take the processor from everything else of the process.

import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'

// JavaScript only: the memory of a WebAssembly module is bounded inside the module (deploy/templates/build.ts).
const HEAP_LIMIT_MIB = 64

/** Nearly all requests are answered in less. */
const USUAL_MS = 1000

export type ThreadEnd = 'timeout' | 'memory' | 'crash'

/** Why a thread gave no answer. */
export class ThreadEnded extends Error {
  readonly reason: ThreadEnd

  constructor(reason: ThreadEnd) {
    super(`worker thread: ended by ${reason}`)
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

type Waiter = { resolve: (reply: unknown) => void; reject: (error: unknown) => void }

/** Starts a thread without environment and arguments; it does not keep the process alive while it has nothing to do. */
export function startThread(file: URL, workerData?: unknown): BoundedThread {
  const worker = new Worker(file, {
    workerData,
    env: {},
    argv: [],
    // node:wasi announces on stderr that it is experimental.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Kept away from ours and not read, since a reader would keep the process alive; the engine's own prints are dropped before.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_LIMIT_MIB },
  })
  let waiter: Waiter | undefined
  const settle = (act: (waiting: Waiter) => void) => {
    const waiting = waiter
    waiter = undefined
    worker.unref()
    if (waiting !== undefined) act(waiting)
  }
  const nextReply = () =>
    new Promise<unknown>((resolve, reject) => {
      waiter = { resolve, reject }
      worker.ref()
    })
  worker.on('message', (reply: unknown) => settle(({ resolve }) => resolve(reply)))
  worker.on('error', (error) =>
    settle(({ reject }) => reject(new ThreadEnded(isHeapExhausted(error) ? 'memory' : 'crash'))),
  )
  worker.on('exit', () => settle(({ reject }) => reject(new ThreadEnded('crash'))))

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
      worker.postMessage(request)
      const lowering = setTimeout(lower, USUAL_MS, threadID)
      try {
        return await withinTime(reply, timeoutMs)
      } finally {
        clearTimeout(lowering)
      }
    },
    async stop() {
      await worker.terminate()
    },
  }
}

function isHeapExhausted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ThreadEnded('timeout')), timeoutMs)
  })
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
    // After a time-out the thread is stopped, which settles `work` once more.
    work.catch(() => undefined)
  }
}

// One worker thread with one instance of the template engine. It renders one request at a time; after a time-out, exhausted
// memory or a crash it is dead for good, and the caller starts another.

import { Worker } from 'node:worker_threads'
import { TemplateError } from './template-error.ts'
import type { ThreadReply } from './template-worker.ts'
import type { WasmModule } from './web-assembly.ts'

const WORKER_FILE = new URL('./template-worker.ts', import.meta.url)
// JavaScript only: the module's own memory is bounded inside the module (deploy/templates/build.ts).
const HEAP_LIMIT_MIB = 64

export interface TemplateThread {
  /**
   * Renders one request; `name` is for error messages. The time limit counts from when the engine is up.
   *
   * @throws TemplateError `TemplateTimeout`, `TemplateMemory` or `TemplateCrashed`; the thread is then dead.
   */
  run(request: string, name: string, timeoutMs: number): Promise<ThreadAnswer>
  stop(): Promise<void>
}

export type ThreadAnswer = Extract<ThreadReply, { type: 'answer' }>

type Waiter = { resolve: (reply: ThreadReply) => void; reject: (error: unknown) => void }

/** Starts a thread; it does not keep the process alive while it has nothing to do. */
export function startTemplateThread(module: WasmModule): TemplateThread {
  const worker = new Worker(WORKER_FILE, {
    workerData: module,
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
    new Promise<ThreadReply>((resolve, reject) => {
      waiter = { resolve, reject }
      worker.ref()
    })
  worker.on('message', (reply: ThreadReply) => settle(({ resolve }) => resolve(reply)))
  worker.on('error', (error) => settle(({ reject }) => reject(error)))
  worker.on('exit', () => settle(({ resolve }) => resolve({ type: 'died', reason: 'crash' })))

  const ready = nextReply()
  // Whoever runs first sees the failure; until then it must not count as unhandled.
  ready.catch(() => undefined)
  return {
    async run(request, name, timeoutMs) {
      const started = await orDeath(ready, name)
      if (started.type !== 'ready') throw deathOf(name, started)
      worker.postMessage(request)
      const reply = await withinTime(orDeath(nextReply(), name), name, timeoutMs)
      if (reply.type !== 'answer') throw deathOf(name, reply)
      return reply
    },
    async stop() {
      await worker.terminate()
    },
  }
}

async function orDeath(reply: Promise<ThreadReply>, name: string): Promise<ThreadReply> {
  try {
    return await reply
  } catch (error) {
    throw deathOf(name, { type: 'died', reason: isHeapExhausted(error) ? 'memory' : 'crash' })
  }
}

function isHeapExhausted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function deathOf(name: string, reply: ThreadReply): TemplateError {
  const reason = reply.type === 'died' ? reply.reason : 'crash'
  switch (reason) {
    case 'memory':
      return new TemplateError('TemplateMemory', `template "${name}": needed more memory than a template may have`)
    case 'stack':
      return new TemplateError('TemplateMemory', `template "${name}": nested too deeply, its stack is exhausted`)
    case 'crash':
      return new TemplateError('TemplateCrashed', `template "${name}": the template engine died while rendering it`)
  }
}

async function withinTime<T>(work: Promise<T>, name: string, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    const error = new TemplateError('TemplateTimeout', `template "${name}": not rendered within ${timeoutMs} ms`)
    timer = setTimeout(() => reject(error), timeoutMs)
  })
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
    // After a time-out the thread is stopped, which settles `work` once more.
    work.catch(() => undefined)
  }
}

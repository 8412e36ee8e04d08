// One render in a thread that holds an instance of the template engine, and the ends that it can come to.

import { extname } from 'node:path'

import { ThreadEnded, startThread, type BoundedThread } from '../bounded/bounded-thread.ts'
import { TemplateError } from './template-error.ts'
import type { DeathReason, ThreadReply } from './template-worker.ts'
import type { WasmModule } from './web-assembly.ts'

const WORKER_FILE = new URL(`./template-worker${extname(import.meta.filename)}`, import.meta.url)

export type ThreadAnswer = Extract<ThreadReply, { type: 'answer' }>

export function startTemplateThread(module: WasmModule): BoundedThread {
  return startThread(WORKER_FILE, module)
}

/**
 * Renders one request; `name` is for error messages.
 *
 * @throws TemplateError `TemplateTimeout`, `TemplateMemory` or `TemplateCrashed`; the thread is then dead.
 */
export async function renderOn(
  thread: BoundedThread,
  request: string,
  { name, timeoutMs }: { name: string; timeoutMs: number },
): Promise<ThreadAnswer> {
  // The messages are those of template-worker.ts.
  const reply = (await orEnd(thread.run(request, timeoutMs), name, timeoutMs)) as ThreadReply
  if (reply.type === 'answer') return reply
  throw deathOf(name, reply.reason)
}

async function orEnd<T>(work: Promise<T>, name: string, timeoutMs: number): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error
    if (error.reason !== 'timeout') throw deathOf(name, error.reason)
    throw new TemplateError('TemplateTimeout', `template "${name}": not rendered within ${timeoutMs} ms`)
  }
}

function deathOf(name: string, reason: DeathReason): TemplateError {
  switch (reason) {
    case 'memory':
      return new TemplateError('TemplateMemory', `template "${name}": needed more memory than a template may have`)
    case 'stack':
      return new TemplateError('TemplateMemory', `template "${name}": nested too deeply, its stack is exhausted`)
    case 'crash':
      return new TemplateError('TemplateCrashed', `template "${name}": the template engine died while rendering it`)
  }
}

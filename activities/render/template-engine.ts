// Renders Go templates in worker threads. What a template can do to us is bounded: memory by the module, time by stopping its thread,
// output by the engine; it has no file system, no network, no process. It is not for templates of our own code.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { redactMessage, type BlueprintText } from './redact.ts'
import { TemplateError } from './template-error.ts'
import { startTemplateThread, type TemplateThread, type ThreadAnswer } from './template-thread.ts'
import { compileModule, type WasmModule } from './web-assembly.ts'

const ENGINE_FILE = new URL('../../deploy/templates/engine.wasm.br', import.meta.url)
const CHECKSUM_FILE = new URL('../../deploy/templates/engine.sha256', import.meta.url)
const MIB = 1024 * 1024

/** `name` names the template in messages; `files` are for `include`, `readFile` and `readDir`, by paths such as `templates/a.yaml`. */
export interface TemplateRequest extends BlueprintText {
  /** What the template sees as `.`; JSON values only. */
  readonly binding: unknown
}

export interface TemplateEngine {
  /**
   * Renders one template; requests beyond the number of threads wait their turn.
   *
   * @throws TemplateError, see its codes; the next render is not affected.
   */
  render(request: TemplateRequest): Promise<string>
  /** Stops all threads; renders in flight fail, later ones are refused. */
  close(): Promise<void>
}

export interface TemplateEngineOptions {
  /** For one render, waiting for a free thread not counted. */
  readonly timeoutMs?: number
  readonly outputLimitBytes?: number
  /** Of template, binding and files together, as JSON. */
  readonly requestLimitBytes?: number
  readonly threads?: number
}

interface Slot {
  thread: TemplateThread | undefined
}

interface EngineAnswer {
  readonly output: string
  readonly failed: '' | 'request' | 'parse' | 'execute' | 'limit'
  readonly message: string
}

/** Creates an engine. Threads start with the first render that needs them; the module is compiled once per process. */
export function createTemplateEngine(options: TemplateEngineOptions = {}): TemplateEngine {
  const { timeoutMs = 10_000, outputLimitBytes = 4 * MIB, requestLimitBytes = 16 * MIB, threads = 2 } = options
  const free: Slot[] = Array.from({ length: threads }, () => ({ thread: undefined }))
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
    async render(request) {
      const { template, name, binding, files } = request
      const text = JSON.stringify({
        engine: 'GoTemplate',
        template,
        name,
        binding,
        files,
        limitBytes: outputLimitBytes,
      })
      if (text.length > requestLimitBytes) throw tooLarge(name, 'the request', text.length, requestLimitBytes)
      const module = await compiledEngine()
      const slot = await acquire()
      try {
        if (closed) throw new Error('template engine: found closed, expected open')
        const answer = await runOn(slot, module, { text, name, timeoutMs })
        return outputOf(request, answer, outputLimitBytes)
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

async function runOn(
  slot: Slot,
  module: WasmModule,
  { text, name, timeoutMs }: { text: string; name: string; timeoutMs: number },
): Promise<string> {
  // No await before the thread is in its slot: `close` must find it.
  slot.thread ??= startTemplateThread(module)
  try {
    const reply = await slot.thread.run(text, name, timeoutMs)
    if (isWorn(reply)) await stopThread(slot)
    return reply.answer
  } catch (error) {
    await stopThread(slot)
    throw error
  }
}

// WebAssembly memory never shrinks; an instance that has grown this far is replaced before it fails somebody else's template.
function isWorn(reply: ThreadAnswer): boolean {
  return reply.memoryBytes > 64 * MIB
}

async function stopThread(slot: Slot): Promise<void> {
  const thread = slot.thread
  slot.thread = undefined
  await thread?.stop()
}

function outputOf(request: TemplateRequest, text: string, limitBytes: number): string {
  // Written by our own engine, see renderAnswer in deploy/templates/main.go.
  const answer = JSON.parse(text) as EngineAnswer
  switch (answer.failed) {
    case '':
      return answer.output
    case 'limit':
      throw tooLarge(request.name, 'its output', undefined, limitBytes)
    case 'parse':
      // What does not parse is the blueprint's own text.
      throw new TemplateError('TemplateFailed', answer.message)
    case 'request':
    case 'execute':
      throw new TemplateError('TemplateFailed', redactMessage(answer.message, request))
  }
}

function tooLarge(name: string, what: string, found: number | undefined, limit: number): TemplateError {
  const size = found === undefined ? 'larger than allowed' : `${found} bytes`
  return new TemplateError(
    'TemplateTooLarge',
    `template "${name}": ${what} is ${size}, expected at most ${limit} bytes`,
  )
}

let compiled: Promise<WasmModule> | undefined

function compiledEngine(): Promise<WasmModule> {
  compiled ??= compileEngine()
  return compiled
}

async function compileEngine(): Promise<WasmModule> {
  const [compressed, checksum] = await Promise.all([readFile(ENGINE_FILE), readFile(CHECKSUM_FILE, 'utf8')])
  const wasm = await promisify(brotliDecompress)(compressed)
  const found = createHash('sha256').update(wasm).digest('hex')
  const expected = checksum.split(' ')[0] ?? ''
  if (found !== expected) throw new Error(`template engine: found sha256 ${found}, expected ${expected}`)
  return await compileModule(wasm)
}

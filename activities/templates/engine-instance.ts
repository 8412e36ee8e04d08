// One instance of the template engine. The engine may only read the clock and random numbers. Every other system call
// fails, and its output is dropped.

import { WASI } from 'node:wasi'

import { instantiate, type WasmMemory, type WasmModule } from './web-assembly.ts'

/** The JSON of renderAnswer in deploy/templates/main.go. */
export interface EngineAnswer {
  readonly output: string
  readonly failed: '' | 'request' | 'parse' | 'execute' | 'limit'
  readonly message: string
}

export interface EngineInstance {
  /**
   * Renders one request: JSON of renderRequest in deploy/templates/main.go. Returns the JSON of an answer.
   *
   * @throws when the engine crashes; it must not be used again.
   */
  render(request: string): string
  memoryBytes(): number
  /** The beginning of the Go runtime's output on stderr, to recognize exhausted memory. */
  stderr(): string
}

interface EngineExports {
  readonly memory: WasmMemory
  request(size: number): number
  render(size: number): number
  answerSize(): number
}

const ALLOWED_CALLS = ['args_get', 'args_sizes_get', 'environ_get', 'environ_sizes_get', 'clock_time_get', 'random_get']
const SCHEDULING_CALLS = ['poll_oneoff', 'sched_yield']
const DESCRIPTOR_CALLS = ['fd_fdstat_get', 'fd_fdstat_set_flags', 'fd_prestat_get', 'fd_prestat_dir_name']
const ERRNO_NOSYS = 52
const STDERR = 2
const SIZE_BYTES = 4
const IOVEC_BYTES = 8
// Enough for the first lines of a fatal error of the Go runtime.
const MAX_STDERR_BYTES = 2048

class EngineExit extends Error {}

export function startEngine(module: WasmModule): EngineInstance {
  const wasi = new WASI({ version: 'preview1', env: {}, args: [], preopens: {} })
  const all = wasi.getImportObject() as { wasi_snapshot_preview1: Record<string, unknown> }
  const offered = all.wasi_snapshot_preview1
  const granted = new Set([...ALLOWED_CALLS, ...SCHEDULING_CALLS, ...DESCRIPTOR_CALLS])
  const imports: Record<string, unknown> = Object.fromEntries(
    Object.entries(offered).map(([name, call]) => [name, granted.has(name) ? call : () => ERRNO_NOSYS]),
  )
  imports['proc_exit'] = () => {
    throw new EngineExit()
  }
  let stderrText = ''
  const collectStderr = (text: string) => {
    if (stderrText.length < MAX_STDERR_BYTES) stderrText += text
  }
  imports['fd_write'] = (fd: number, vectors: number, count: number, writtenAt: number) =>
    dropOutput(memory(), { fd, vectors, count, writtenAt }, collectStderr)
  const instance = instantiate(module, { wasi_snapshot_preview1: imports })
  const memory = () => instance.exports['memory'] as WasmMemory
  wasi.initialize(instance)
  // main.go declares these exports, and engine-module.ts loads no module with another checksum.
  const engine = instance.exports as unknown as EngineExports
  return {
    render: (request) => render(engine, request),
    memoryBytes: () => engine.memory.buffer.byteLength,
    stderr: () => stderrText,
  }
}

/** @param collectStderr receives the text on stderr. */
function dropOutput(
  memory: WasmMemory,
  call: { fd: number; vectors: number; count: number; writtenAt: number },
  collectStderr: (text: string) => void,
): number {
  const view = new DataView(memory.buffer)
  let written = 0
  for (let index = 0; index < call.count; index++) {
    const vector = call.vectors + index * IOVEC_BYTES
    const size = view.getUint32(vector + SIZE_BYTES, true)
    written += size
    if (call.fd === STDERR)
      collectStderr(Buffer.from(memory.buffer, view.getUint32(vector, true), size).toString('latin1'))
  }
  view.setUint32(call.writtenAt, written, true)
  return 0
}

function render(engine: EngineExports, request: string): string {
  const bytes = Buffer.from(request)
  const address = engine.request(bytes.length)
  // A call may grow the memory, which replaces the buffer: read it again after each call.
  Buffer.from(engine.memory.buffer, address >>> 0, bytes.length).set(bytes)
  const answerAt = engine.render(bytes.length) >>> 0
  return Buffer.from(engine.memory.buffer, answerAt, engine.answerSize()).toString('utf8')
}

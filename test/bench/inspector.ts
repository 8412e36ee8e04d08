// An inspector client for a running Node process and its worker threads. It measures live memory: the heap after a garbage collection, plus external memory.
//
//   I1. SIGUSR1 makes the process listen, and the process logs its address. It listens until it ends, so only sets of the bench are inspected.
//   I2. Worker threads that start later are included.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const LISTEN_LIMIT_MS = 5000
const POLL_MS = 50
const MIB = 1024 * 1024
// The second collection frees the objects that the first one finalises.
const COLLECTIONS = 2

interface Message {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

type Send = (message: string) => void

/** The thread ended before it answered. */
class ThreadEnded extends Error {}

/** Requests to one thread. */
class Session {
  readonly thread: string
  readonly #send: Send
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  #last = 0

  constructor(thread: string, send: Send) {
    this.thread = thread
    this.#send = send
  }

  async call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#last
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#send(JSON.stringify({ id, method, params }))
    return await answer
  }

  take({ id = 0, result, error }: Message): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(`inspector of ${this.thread}: ${error.message}`))
  }

  fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

export class Inspector {
  readonly #socket: WebSocket
  readonly #main: Session
  readonly #workers = new Map<string, Session>()

  private constructor(socket: WebSocket) {
    this.#socket = socket
    this.#main = new Session('main thread', (message) => socket.send(message))
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message))
    socket.addEventListener('close', () => this.#fail(new Error('inspector: the process closed the connection')))
  }

  /** Makes the process listen. @param logFile with the standard error of the process. */
  static async open(pid: number, logFile: string): Promise<Inspector> {
    const socket = new WebSocket(await listeningAddress(pid, logFile))
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true })
      socket.addEventListener('error', () => reject(new Error(`inspector of process ${pid}: no connection`)), {
        once: true,
      })
    })
    const inspector = new Inspector(socket)
    // It reports the present threads before it answers.
    await inspector.#main.call('NodeWorker.enable', { waitForDebuggerOnStart: false })
    return inspector
  }

  /** Live memory of all threads. Stops each thread for about 50 ms. */
  async liveMiB(): Promise<number> {
    let bytes = 0
    for (const session of this.#sessions) {
      bytes += await liveBytes(session).catch((error: unknown) => {
        if (error instanceof ThreadEnded) return 0
        throw error
      })
    }
    return bytes / MIB
  }

  get #sessions(): readonly Session[] {
    return [this.#main, ...this.#workers.values()]
  }

  close(): void {
    this.#socket.close()
  }

  #take(message: Message): void {
    const { method, params = {} } = message
    const sessionId = String(params['sessionId'])
    if (method === undefined) this.#main.take(message)
    if (method === 'NodeWorker.attachedToWorker') this.#workers.set(sessionId, this.#attach(sessionId))
    if (method === 'NodeWorker.detachedFromWorker') {
      this.#workers.get(sessionId)?.fail(new ThreadEnded())
      this.#workers.delete(sessionId)
    }
    if (method === 'NodeWorker.receivedMessageFromWorker')
      this.#workers.get(sessionId)?.take(JSON.parse(String(params['message'])) as Message)
  }

  #attach(sessionId: string): Session {
    return new Session(`worker thread ${this.#workers.size + 1}`, (message) => {
      this.#main.call('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => undefined)
    })
  }

  #fail(error: Error): void {
    for (const session of this.#sessions) session.fail(error)
  }
}

/** I1 */
async function listeningAddress(pid: number, logFile: string): Promise<string> {
  const before = (await addresses(logFile)).length
  process.kill(pid, 'SIGUSR1')
  const deadline = Date.now() + LISTEN_LIMIT_MS
  while (Date.now() < deadline) {
    const last = (await addresses(logFile)).slice(before).at(-1)
    if (last !== undefined) return last
    await sleep(POLL_MS)
  }
  // A process that already listens logs no new line.
  const known = (await addresses(logFile)).at(-1)
  if (known === undefined)
    throw new Error(`inspector of process ${pid}: ${logFile} names no address, expected a line "Debugger listening on"`)
  return known
}

async function addresses(logFile: string): Promise<readonly string[]> {
  const text = await readFile(logFile, 'utf8')
  return Array.from(text.matchAll(/Debugger listening on (ws:\/\/\S+)/g), ([, address = '']) => address)
}

async function liveBytes(session: Session): Promise<number> {
  for (let collection = 0; collection < COLLECTIONS; collection++) await session.call('HeapProfiler.collectGarbage')
  const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
  const { result } = (await session.call('Runtime.evaluate', { expression })) as {
    readonly result: { readonly value?: unknown }
  }
  if (typeof result.value !== 'number')
    throw new Error(`live memory of ${session.thread}: found ${typeof result.value}, expected a number of bytes`)
  return result.value
}

// A minimal debugger over Node's inspector protocol, like Chrome and VS Code: finds scripts by their source maps, and
// sets breakpoints by source lines.

import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

import { deferred } from '../workflows/kit/plan/fake-runtime.ts'

/** The call frame in which the process has paused, as Node reports it. */
interface Frame {
  readonly callFrameId: string
  readonly location: Position & { readonly scriptId: string }
}

interface Position {
  readonly lineNumber: number
  readonly columnNumber?: number
}

interface Script {
  readonly scriptId: string
  readonly url: string
  readonly sourceMapURL: string
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** The source position at which the process has paused. */
export interface Pause {
  readonly file: string
  /** 1-based. */
  readonly line: number
  /** Returns the value of an expression in the paused call frame. */
  readonly evaluate: (expression: string) => Promise<unknown>
}

export class Debugger {
  readonly #socket: WebSocket
  readonly #scripts = new Map<string, Script>()
  readonly #maps = new Map<string, SourceMap>()
  readonly #answers = new Map<number, (message: Message) => void>()
  #pauses = deferred<Frame>()
  #sent = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.onmessage = ({ data }) => this.#take(JSON.parse(String(data)) as Message)
  }

  /** Attaches to a process that waits for a debugger, and starts its code. */
  static async attach(url: string): Promise<Debugger> {
    const socket = new WebSocket(url)
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    const attached = new Debugger(socket)
    for (const method of ['Runtime.enable', 'Debugger.enable', 'Runtime.runIfWaitingForDebugger'])
      await attached.#call(method)
    return attached
  }

  /** Waits until the process pauses at a breakpoint or at a debugger statement. */
  async paused(): Promise<Pause> {
    const frame = await this.#pauses.promise
    const { scriptId, lineNumber, columnNumber = 0 } = frame.location
    const origin = this.#mapOf(scriptId)?.findEntry(lineNumber, columnNumber)
    const isMapped = origin !== undefined && 'originalLine' in origin
    return {
      file: isMapped ? origin.originalSource : new URL(this.#scripts.get(scriptId)?.url ?? '').pathname,
      line: (isMapped ? origin.originalLine : lineNumber) + 1,
      evaluate: async (expression) => {
        const params = { callFrameId: frame.callFrameId, expression, returnByValue: true }
        const { result } = (await this.#call('Debugger.evaluateOnCallFrame', params)) as { result: { value?: unknown } }
        return result.value
      },
    }
  }

  /**
   * Sets a breakpoint at the first line of the file that contains this text, in every script that was built from the
   * file. @returns the line.
   */
  async breakAt(file: string, text: string): Promise<number> {
    const line = readFileSync(file, 'utf8')
      .split('\n')
      .findIndex((one) => one.includes(text))
    const urls = new Set<string>()
    for (const { scriptId, url } of this.#scripts.values()) {
      const place = urls.has(url) ? undefined : await this.#placeOf(scriptId, file, line)
      if (place === undefined) continue
      urls.add(url)
      await this.#call('Debugger.setBreakpointByUrl', { url, ...place })
    }
    if (urls.size === 0) throw new Error(`no script has code of ${file}, line ${line + 1}`)
    return line + 1
  }

  async resume(): Promise<void> {
    this.#pauses = deferred<Frame>()
    await this.#call('Debugger.resume')
  }

  detach(): void {
    this.#socket.close()
  }

  /** Returns the first possible breakpoint of a source line (0-based) in the script. */
  async #placeOf(scriptId: string, file: string, line: number): Promise<Position | undefined> {
    const map = this.#mapOf(scriptId)
    if (map?.payload.sources.includes(file) !== true) return undefined
    let start: Position = { lineNumber: 0 }
    for (;;) {
      // The answer contains only the first 1,000 locations of a long script.
      const params = { start: { scriptId, ...start } }
      const { locations } = (await this.#call('Debugger.getPossibleBreakpoints', params)) as { locations: Position[] }
      for (const { lineNumber, columnNumber = 0 } of locations) {
        const origin = map.findEntry(lineNumber, columnNumber)
        if ('originalLine' in origin && origin.originalSource === file && origin.originalLine === line)
          return { lineNumber, columnNumber }
      }
      const last = locations.at(-1)
      if (last === undefined) return undefined
      start = { lineNumber: last.lineNumber, columnNumber: (last.columnNumber ?? 0) + 1 }
    }
  }

  #mapOf(scriptId: string): SourceMap | undefined {
    const known = this.#maps.get(scriptId)
    const [, base64] =
      /^data:application\/json.*;base64,(.*)$/.exec(this.#scripts.get(scriptId)?.sourceMapURL ?? '') ?? []
    if (known !== undefined || base64 === undefined) return known
    const map = new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString()) as SourceMap['payload'])
    this.#maps.set(scriptId, map)
    return map
  }

  async #call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#sent
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve))
    this.#socket.send(JSON.stringify({ id, method, params }))
    const { error, result } = await answer
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  #take({ id, method, params, ...answer }: Message): void {
    if (id !== undefined) this.#answers.get(id)?.(answer)
    if (method === 'Debugger.scriptParsed') this.#scripts.set((params as Script).scriptId, params as Script)
    if (method === 'Debugger.paused') {
      const [frame] = (params as { callFrames: readonly Frame[] }).callFrames
      if (frame !== undefined) this.#pauses.resolve(frame)
    }
  }
}

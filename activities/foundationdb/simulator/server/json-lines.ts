// JSON lines over a TCP connection: requests with answers in both directions of the protocol, and events.

import { connect, type Socket } from 'node:net'

import { ConnectionLost } from '../cli/gateway.ts'
import type { OperationName, Params, Result, ServerEvent } from '../protocol.ts'

/** Calls `receive` for each line until the connection ends. Lines that are not JSON end it. */
export function readLines(socket: Socket, receive: (message: Record<string, unknown>) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.setNoDelay(true)
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = parse(line)
      if (message === undefined) socket.destroy()
      else receive(message)
    }
  })
  // A connection that breaks also emits `close`; nothing else needs the error.
  socket.on('error', () => undefined)
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

export function send(socket: Socket, message: unknown): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`)
}

interface Pending {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/** The client's end of a connection. */
export class Connection {
  private readonly pending = new Map<number, Pending>()
  private next = 1
  private readonly socket: Socket
  onEvent: (event: ServerEvent) => void = () => undefined
  onClose: () => void = () => undefined

  constructor(socket: Socket) {
    this.socket = socket
    readLines(socket, (message) => {
      this.receive(message)
    })
    socket.on('close', () => {
      for (const { reject } of this.pending.values()) reject(new ConnectionLost('the connection ended'))
      this.pending.clear()
      this.onClose()
    })
  }

  private receive(message: Record<string, unknown>): void {
    if ('event' in message) {
      this.onEvent(message as unknown as ServerEvent)
      return
    }
    const pending = this.pending.get(Number(message['id']))
    this.pending.delete(Number(message['id']))
    const error = message['error'] as { code?: number; message: string } | undefined
    if (error === undefined) pending?.resolve(message['result'] as never)
    else pending?.reject(Object.assign(new Error(error.message), { code: error.code }))
  }

  async request<N extends OperationName>(op: N, params: Params<N>): Promise<Result<N>> {
    if (this.socket.destroyed) throw new ConnectionLost('the connection ended')
    const id = this.next++
    return await new Promise<Result<N>>((resolve, reject) => {
      this.pending.set(id, { resolve, reject })
      send(this.socket, { id, op, params })
    })
  }

  close(): void {
    this.socket.destroy()
  }
}

/** Undefined if nothing listens. `address` may have `:tls`. */
export async function dial(address: string): Promise<Connection | undefined> {
  const match = /^\[?(.+?)\]?:(\d+)(?::tls)?$/.exec(address)
  const port = Number(match?.[2] ?? 0)
  if (match === null || port < 1 || port > 65_535) return undefined
  return await new Promise((resolve) => {
    const socket = connect({ host: match[1] ?? '', port })
    socket.once('connect', () => {
      resolve(new Connection(socket))
    })
    socket.once('error', () => {
      resolve(undefined)
    })
  })
}

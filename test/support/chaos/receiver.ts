// An HTTP server on loopback that receives notifications, records them, and answers as the test says.

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export type Answering = (request: Received, response: ServerResponse) => void

export class Receiver {
  readonly #server: Server
  /** Of all requests that have come to their end, in order. */
  readonly received: Received[] = []
  answering: Answering = (_, response) => response.end('{"ok":true}')

  private constructor(server: Server) {
    this.#server = server
  }

  /** Before workers start, for their configuration has its URL. */
  static async start(): Promise<Receiver> {
    const server = createServer()
    const receiver = new Receiver(server)
    server.on('request', (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8')
        const body: unknown = text === '' ? undefined : JSON.parse(text)
        const received = { path: request.url ?? '', headers: request.headers, body }
        receiver.received.push(received)
        receiver.answering(received, response)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

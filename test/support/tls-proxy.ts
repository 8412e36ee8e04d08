// A server's TLS in front of one that has none: what it takes off is passed on byte by byte.

import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer, type Server, type TlsOptions } from 'node:tls'

export class TlsProxy {
  readonly #server: Server
  /** Why handshakes failed. */
  readonly refusals: string[] = []

  private constructor(server: Server) {
    this.#server = server
    server.on('tlsClientError', ({ message }) => this.refusals.push(message))
  }

  /** @param address `host:port` of the server behind. */
  static async before(address: string, options: TlsOptions): Promise<TlsProxy> {
    const { hostname, port } = new URL(`tcp://${address}`)
    const server = createServer({ ALPNProtocols: ['h2'], ...options }, (socket) => {
      const onward = connect(Number(port), hostname)
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const)
        one.on('error', () => other.destroy()).on('close', () => other.destroy())
      socket.pipe(onward).pipe(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TlsProxy(server)
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Waits for no connection: the processes of a test end after it. */
  stop(): void {
    this.#server.close()
  }
}

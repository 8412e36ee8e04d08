// Stands between a client and a server, and may fall silent: connections stay open, and nothing goes through them any more.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class SilentProxy {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(port: number): Promise<SilentProxy> {
    const server = createServer()
    const proxy = new SilentProxy(server)
    server.on('connection', (socket) => {
      const onward = connect(port, '127.0.0.1')
      const pair = [socket, onward] as const
      proxy.#pairs.add(pair)
      for (const end of pair) {
        end.on('error', () => undefined)
        end.on('close', () => {
          proxy.#pairs.delete(pair)
          for (const one of pair) one.destroy()
        })
      }
      socket.pipe(onward).pipe(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Of the present connections; later ones work. @returns how many. */
  fallSilent(): number {
    for (const [socket, onward] of this.#pairs) {
      socket.unpipe(onward)
      onward.unpipe(socket)
      onward.pause()
    }
    return this.#pairs.size
  }

  /** The present connections. */
  cut(): void {
    for (const pair of this.#pairs) for (const end of pair) end.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

// A proxy between clients and a server of any protocol. A test makes it cut connections, lose answers, go silent, refuse clients, or lead to another server.
//
//   F1. The server executes a request whose answer is lost. The client only sees that its connection has gone.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** `armed`: the answer to the next request is lost. `requested`: the next answer is lost. */
  losing: 'no' | 'armed' | 'requested'
}

export class TcpProxy {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #backend: number
  #isRefusing = false

  private constructor(listener: Server, backend: number) {
    this.#listener = listener
    this.#backend = backend
  }

  /** @param backend port of the server. */
  static async to(backend: number): Promise<TcpProxy> {
    const listener = createServer()
    const proxy = new TcpProxy(listener, backend)
    listener.on('connection', (client) => proxy.#connect(client))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** The address with the proxy's port. */
  through(url: string): string {
    const through = new URL(url)
    through.port = String(this.port)
    return through.href
  }

  /** Closes all connections, and new ones at once, until `switchTo`. */
  refuse(): void {
    this.#isRefusing = true
    this.cutAll()
  }

  /** Leads new connections to another port, and cuts all others. */
  switchTo(backend: number): void {
    this.#backend = backend
    this.#isRefusing = false
    this.cutAll()
  }

  cutAll(): void {
    for (const pair of this.#pairs) close(pair)
  }

  /** Cuts one connection. @param chance from 0 to 1. @returns false when there is no connection. */
  cutOne(chance: number): boolean {
    const pair = this.#oneOf(chance)
    if (pair !== undefined) close(pair)
    return pair !== undefined
  }

  /** Loses the answer to the next request of a connection (F1). @param chance from 0 to 1. @returns false when there is no connection. */
  loseAnswer(chance: number): boolean {
    const pair = this.#oneOf(chance)
    if (pair !== undefined) pair.losing = 'armed'
    return pair !== undefined
  }

  /** Present connections stay open and transmit nothing more. New ones work. @returns the number of connections. */
  fallSilent(): number {
    for (const { client, server } of this.#pairs) {
      client.unpipe(server)
      server.unpipe(client)
      server.pause()
    }
    return this.#pairs.size
  }

  async stop(): Promise<void> {
    this.cutAll()
    this.#listener.close()
    await once(this.#listener, 'close')
  }

  #oneOf(chance: number): Pair | undefined {
    return [...this.#pairs][Math.floor(chance * this.#pairs.size)]
  }

  #connect(client: Socket): void {
    client.on('error', () => undefined)
    if (this.#isRefusing) {
      client.destroy()
      return
    }
    const server = connect(this.#backend, '127.0.0.1')
    const pair: Pair = { client, server, losing: 'no' }
    this.#pairs.add(pair)
    for (const end of [client, server]) {
      end.on('error', () => undefined)
      end.on('close', () => {
        this.#pairs.delete(pair)
        close(pair)
      })
    }
    client.on('data', () => {
      if (pair.losing === 'armed') pair.losing = 'requested'
    })
    client.pipe(server)
    server.on('data', () => {
      if (pair.losing === 'requested') close(pair)
    })
    // The listener above sees the answer first. A destroyed connection takes no more data.
    server.pipe(client)
  }
}

/** With a reset, so that both ends notice at once. */
function close({ client, server }: Pair): void {
  client.resetAndDestroy()
  server.destroy()
}

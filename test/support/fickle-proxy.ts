// Stands between clients and a server of any protocol: cuts connections, loses answers, refuses everybody, and leads to another server.
//
//   F1. An answer that is lost comes after the server has acted: what was asked is done, and the client hears only that its connection is gone.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** `armed`: the answer to what is asked next is lost; `asked`: the one that comes next. */
  losing: 'no' | 'armed' | 'asked'
}

export class FickleProxy {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #backend: number
  #isRefusing = false

  private constructor(listener: Server, backend: number) {
    this.#listener = listener
    this.#backend = backend
  }

  static async to(backend: number): Promise<FickleProxy> {
    const listener = createServer()
    const proxy = new FickleProxy(listener, backend)
    listener.on('connection', (client) => proxy.#connect(client))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  get connections(): number {
    return this.#pairs.size
  }

  /** The address with the proxy's port. */
  through(url: string): string {
    const through = new URL(url)
    through.port = String(this.port)
    return through.href
  }

  /** New connections are closed at once until `switchTo`, and those that are there now. */
  refuse(): void {
    this.#isRefusing = true
    this.cutAll()
  }

  /** Where new connections lead; those that are there are cut. */
  switchTo(backend: number): void {
    this.#backend = backend
    this.#isRefusing = false
    this.cutAll()
  }

  cutAll(): void {
    for (const pair of this.#pairs) close(pair)
  }

  /** Cuts one connection. @param chance from 0 to 1. @returns whether there was one. */
  cutOne(chance: number): boolean {
    const pair = this.#oneOf(chance)
    if (pair !== undefined) close(pair)
    return pair !== undefined
  }

  /** Lets a connection ask once more and loses the answer (F1). @param chance from 0 to 1. @returns whether there was one. */
  loseAnswer(chance: number): boolean {
    const pair = this.#oneOf(chance)
    if (pair !== undefined) pair.losing = 'armed'
    return pair !== undefined
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
      if (pair.losing === 'armed') pair.losing = 'asked'
    })
    client.pipe(server)
    server.on('data', () => {
      if (pair.losing === 'asked') close(pair)
    })
    // The listener above is the first to see the answer: what is destroyed takes no more.
    server.pipe(client)
  }
}

/** With a reset, so that both ends know at once. */
function close({ client, server }: Pair): void {
  client.resetAndDestroy()
  server.destroy()
}

// A UDP socket on loopback that records datagrams, in place of a Datadog agent.

import { createSocket, type Socket } from 'node:dgram'

/** A metric, or the beginning of an event, as it came. */
export interface Datagram {
  readonly line: string
  /** Of an event `_e{5,7}`. */
  readonly name: string
  readonly value: string
  /** `c`, `ms`, `g`; of an event its text. */
  readonly type: string
  /** In the order of the alphabet. */
  readonly tags: readonly string[]
}

export class Datagrams {
  readonly #socket: Socket
  /** One line each. */
  readonly received: Datagram[] = []

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (message) => {
      this.received.push(...message.toString('utf8').split('\n').map(read))
    })
  }

  static async open(): Promise<Datagrams> {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.bind(0, '127.0.0.1', resolve)
    })
    return new Datagrams(socket)
  }

  /** As `STATSD_URL` has it. */
  get url(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  of(name: string): readonly Datagram[] {
    return this.received.filter((one) => one.name === name)
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(resolve))
  }
}

function read(line: string): Datagram {
  const [head = '', type = '', ...rest] = line.split('|')
  const colon = head.indexOf(':')
  const tags =
    rest
      .find((one) => one.startsWith('#'))
      ?.slice(1)
      .split(',') ?? []
  return { line, name: head.slice(0, colon), value: head.slice(colon + 1), type, tags: tags.sort() }
}

// Sends metrics and events to a Datadog agent, by DogStatsD over UDP.
//
// D1. No caller waits for the agent with metrics, and a lost agent fails none of them. Only `event` waits until its
//   datagram is sent, and rejects if that fails. The first failure to send is logged once;
//   datagrams without a receiver are lost silently, as always with UDP.
// D2. The library is loaded when a client is created.

import type { StatsD } from 'hot-shots'

import type { DatadogEvent } from '../../workflows/chaos/notification.ts'
import type { StatsdAddress } from '../../workflows/chaos/statsd-address.ts'

export type Tags = Readonly<Record<string, string>>

/** The value of the tag `app`. Source: chaos-controller, o11y/metrics/types. */
export type App = 'chaos-controller' | 'chaos-injector'

export interface DatadogOptions {
  readonly address: StatsdAddress
  readonly app: App
  /** Groups several metrics in one datagram, at most a second after the first; otherwise each is sent at once. */
  readonly isGrouped: boolean
  /** D1. Called at most once. */
  readonly lost: (error: unknown) => void
}

// Fits into one Ethernet frame.
const DATAGRAM_BYTES = 1432
/** An agent that does not answer must not delay the end of the process. */
const CLOSE_TIMEOUT_MS = 1000

export class DatadogClient {
  readonly #library: Promise<StatsD>
  readonly #lost: (error: unknown) => void
  #isTold = false

  constructor({ lost, ...options }: DatadogOptions) {
    this.#lost = (error) => {
      if (this.#isTold) return
      this.#isTold = true
      lost(error)
    }
    this.#library = openLibrary(options, this.#lost)
    // D1. Reports a failure even before the first send.
    this.#library.catch(this.#lost)
  }

  count(name: string, by: number, tags: Tags): void {
    this.#send((library) => {
      library.increment(name, by, { ...tags })
    })
  }

  timing(name: string, seconds: number, tags: Tags): void {
    this.#send((library) => {
      library.timing(name, seconds * 1000, { ...tags })
    })
  }

  gauge(name: string, value: number, tags: Tags): void {
    this.#send((library) => {
      library.gauge(name, value, { ...tags })
    })
  }

  /** Resolves when the event is sent. @throws if it cannot be sent, for example because the host name is unknown. */
  async event({ title, text, alertType, tags }: DatadogEvent): Promise<void> {
    const library = await this.#library
    await new Promise<void>((resolve, reject) => {
      library.event(toAscii(title), toAscii(text), { alert_type: alertType }, { ...tags }, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  }

  /** Sends the remaining metrics. Resolves when they are sent, or after the limit. Never throws. */
  async close(limitMs = CLOSE_TIMEOUT_MS): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs)
    })
    const closed = this.#library.then(
      async (library) => {
        await new Promise<void>((resolve) => {
          library.close((error) => {
            if (error) this.#lost(error)
            resolve()
          })
        })
      },
      (error: unknown) => this.#lost(error),
    )
    await Promise.race([closed, late])
    clearTimeout(timer)
  }

  #send(send: (library: StatsD) => void): void {
    this.#library.then(send).catch((error: unknown) => this.#lost(error))
  }
}

/** D2 */
async function openLibrary(
  { address, app, isGrouped }: Omit<DatadogOptions, 'lost'>,
  errorHandler: (error: unknown) => void,
): Promise<StatsD> {
  const { StatsD } = await import('hot-shots')
  return new StatsD({
    protocol: 'udp',
    host: address.host,
    port: address.port,
    globalTags: { app },
    errorHandler,
    // Without it, each datagram would resolve the name.
    cacheDns: true,
    maxBufferSize: isGrouped ? DATAGRAM_BYTES : 0,
  })
}

/**
 * ASCII only: the library counts an event's length in characters, agents count bytes. Accents are removed from letters,
 * and control characters of the protocol are replaced.
 */
function toAscii(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\n\x20-\x7e]/g, '?')
}

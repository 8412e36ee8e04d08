// Sends metrics and events to a Datadog agent, by DogStatsD over UDP.
//
// D1. Methods for metrics return immediately and never throw. The client reports only its first failure to send a
//   metric (`lost`). `event` waits until its datagram is sent, and rejects if that fails. Datagrams without a receiver
//   are lost silently, as always with UDP.
// D2. The library hot-shots is loaded when a client is created.

import type { StatsD } from 'hot-shots'

import type { DatadogEvent } from '../../workflows/chaos/notification.ts'
import type { StatsdAddress } from '../../workflows/chaos/statsd-address.ts'

export type Tags = Readonly<Record<string, string>>

/** The value of the tag `app`. Source: chaos-controller, o11y/metrics/types. */
export type App = 'chaos-controller' | 'chaos-injector'

export interface DatadogOptions {
  readonly address: StatsdAddress
  readonly app: App
  /** Sends several metrics in one datagram, at least once a second (hot-shots' default); otherwise each immediately. */
  readonly isGrouped: boolean
  /** Reports the first failure to send or to load the library (D1). Called at most once. */
  readonly lost: (error: unknown) => void
}

// The 1500 bytes of an Ethernet frame without the largest IPv4 header (60) and the UDP header (8).
const DATAGRAM_BYTES = 1432
/** An agent that does not answer must not delay the end of the process. */
const CLOSE_TIMEOUT_MS = 1000

export class DatadogClient {
  /** The client of hot-shots. */
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
    // Reports that the library cannot be loaded, and handles the rejection if nothing is ever sent.
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

  /**
   * Resolves when the event is sent; with `isGrouped` already when it is buffered.
   *
   * @throws if the event cannot be sent, for example because the host name is unknown.
   */
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

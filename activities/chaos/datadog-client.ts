// Sends metrics and events to an agent of Datadog, by DogStatsD over UDP.
//
//   D1. Nothing waits for the agent, and nothing fails for its loss. What cannot be sent is told once, in the log; what nobody receives nobody hears of, as
//       with all of UDP.
//   D2. The library is loaded by who sends, and by nobody else.

import type { StatsD } from 'hot-shots'

import type { DatadogEvent } from '../../workflows/chaos/datadog-event.ts'
import type { StatsdAddress } from '../../workflows/chaos/statsd-address.ts'

export type Tags = Readonly<Record<string, string>>

/** Of what program the metrics are; the tag `app` of each. Source: chaos-controller, o11y/metrics/types. */
export type App = 'chaos-controller' | 'chaos-injector'

export interface DatadogOptions {
  readonly address: StatsdAddress
  readonly app: App
  /** Many go in one datagram, a second after the first at most; else each goes at once. */
  readonly isGrouped: boolean
  /** D1. Called once at most. */
  readonly lost: (error: unknown) => void
}

// Below what one frame of Ethernet holds of UDP.
const DATAGRAM_BYTES = 1432
/** Who ends is not kept by an agent that does not answer. */
const CLOSING_MS = 1000

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
    // D1. Also before somebody sends.
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

  /** Resolves when it has left this process. @throws what keeps it from that, such as a name that nobody knows. */
  async event({ title, text, alertType, tags }: DatadogEvent): Promise<void> {
    const library = await this.#library
    await new Promise<void>((resolve, reject) => {
      library.event(plain(title), plain(text), { alert_type: alertType }, { ...tags }, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  }

  /** Sends what is left. Resolves when that has left, and after so long at the latest. Never throws. */
  async close(limitMs = CLOSING_MS): Promise<void> {
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
    // Else each datagram would look up the name.
    cacheDns: true,
    maxBufferSize: isGrouped ? DATAGRAM_BYTES : 0,
  })
}

/**
 * In ASCII: the library tells lengths of events in characters, and agents read them as bytes. Of letters with accents the letter stays. Also without what
 * ends a line of the protocol.
 */
function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\n\x20-\x7e]/g, '?')
}

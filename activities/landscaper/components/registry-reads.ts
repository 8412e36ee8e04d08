// What was read from registries, and what is being read: each thing once for all who may have it.
//
//   R1. A pass waits for a registry only a moment: it holds a place that others need. What it asked for is read on without it, and is there when it asks
//       again, which a retryable failure makes it do.
//   R2. Who has not been let in by the registry gets nothing from here: what is kept is kept by the credential that it was read with.
//   R3. All is bounded: what is kept in bytes and in time, what is being read in number, for each namespace and in all, and in time.

import { retryableFailure } from '../../kube/errors.ts'
import { unlessAborted } from '../deploy/target/shared-work.ts'

export interface Reading {
  /** R2 */
  readonly key: string
  /** For messages. */
  readonly title: string
  readonly namespace: string
  /** Ends the wait, not the reading. */
  readonly signal: AbortSignal | undefined
  /** How long what was read may be kept. */
  readonly keepMs: number
  readonly read: (signal: AbortSignal) => Promise<Buffer>
}

export interface ReadLimits {
  readonly keptBytes: number
  readonly waitMs: number
  readonly readMs: number
  readonly reads: number
  readonly readsOfNamespace: number
}

export const READ_LIMITS: ReadLimits = {
  keptBytes: 64 * 1024 * 1024,
  waitMs: 5000,
  readMs: 60_000,
  reads: 64,
  readsOfNamespace: 8,
}

/** How long a failure waits for somebody to ask. */
const TELL_MS = 120_000
/** One who comes late waits this long at least: many things end soon. */
const SHORT_WAIT_MS = 100

interface Kept {
  readonly bytes: Buffer
  readonly untilMs: number
}

interface Flight {
  readonly namespace: string
  readonly startedMs: number
  readonly result: Promise<Buffer>
  endedMs?: number
}

export class RegistryReads {
  readonly #limits: ReadLimits
  readonly #now: () => Date
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0
  readonly #flights = new Map<string, Flight>()
  readonly #closing = new AbortController()

  constructor(now: () => Date, limits: ReadLimits = READ_LIMITS) {
    this.#now = now
    this.#limits = limits
  }

  /** @throws what `read` throws; retryable `RegistryUnavailable` when it takes long, or too much is being read; the signal's reason. */
  async of(reading: Reading): Promise<Buffer> {
    const kept = this.#find(reading.key)
    if (kept !== undefined) return kept
    const flight = this.#flights.get(reading.key) ?? this.#start(reading)
    const sinceMs = this.#nowMs() - flight.startedMs
    const patience = AbortSignal.timeout(Math.max(SHORT_WAIT_MS, this.#limits.waitMs - sinceMs))
    const { signal } = reading
    const either = signal === undefined ? patience : AbortSignal.any([signal, patience])
    let isLate = false
    try {
      return await unlessAborted(flight.result, either)
    } catch (error) {
      isLate = either.aborted && flight.endedMs === undefined
      if (isLate && signal?.aborted !== true) throw tooSlow(reading, Math.max(sinceMs, this.#limits.waitMs))
      throw error
    } finally {
      // A failure is told to all who wait for it, and then it is tried anew.
      if (!isLate && flight.endedMs !== undefined) this.#forgetFlight(reading.key, flight)
    }
  }

  close(): void {
    this.#closing.abort(retryableFailure('RegistryUnavailable', 'the worker stops'))
  }

  #start(reading: Reading): Flight {
    const { key, namespace, title } = reading
    this.#makeRoom(title, namespace)
    const limit = AbortSignal.timeout(this.#limits.readMs)
    const signal = AbortSignal.any([limit, this.#closing.signal])
    const work = reading.read(signal).catch((error: unknown) => {
      throw limit.aborted ? tooSlow(reading, this.#limits.readMs) : error
    })
    const flight: Flight = { namespace, startedMs: this.#nowMs(), result: work }
    this.#flights.set(key, flight)
    work.then(
      (bytes) => {
        this.#keep(key, { bytes, untilMs: this.#nowMs() + reading.keepMs })
        this.#forgetFlight(key, flight)
      },
      () => {
        flight.endedMs = this.#nowMs()
      },
    )
    return flight
  }

  /** R3 */
  #makeRoom(title: string, namespace: string): void {
    this.#forgetFailures()
    const running = [...this.#flights.values()].filter(({ endedMs }) => endedMs === undefined)
    const own = running.filter((one) => one.namespace === namespace)
    const { reads, readsOfNamespace } = this.#limits
    if (running.length < reads && own.length < readsOfNamespace) return
    const found = `found ${own.length} readings of this namespace and ${running.length} in all`
    throw retryableFailure(
      'RegistryUnavailable',
      `${title}: ${found}, expected fewer than ${readsOfNamespace} and ${reads}; it is asked again`,
    )
  }

  /** Those that nobody has asked for in time, and the oldest of too many: they must keep nobody out. */
  #forgetFailures(): void {
    const tooOld = this.#nowMs() - TELL_MS
    let excess = this.#flights.size - 2 * this.#limits.reads + 1
    for (const [key, { endedMs }] of this.#flights) {
      if (endedMs === undefined || (endedMs >= tooOld && excess <= 0)) continue
      this.#flights.delete(key)
      excess -= 1
    }
  }

  #forgetFlight(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
  }

  #find(key: string): Buffer | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#forget(key)
    if (kept.untilMs <= this.#nowMs()) return undefined
    this.#kept.set(key, kept)
    this.#bytes += kept.bytes.length
    return kept.bytes
  }

  #keep(key: string, kept: Kept): void {
    this.#forget(key)
    this.#kept.set(key, kept)
    this.#bytes += kept.bytes.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#limits.keptBytes) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes.length ?? 0
    this.#kept.delete(key)
  }

  #nowMs(): number {
    return this.#now().getTime()
  }
}

function tooSlow({ title }: Reading, ms: number): Error {
  return retryableFailure(
    'RegistryUnavailable',
    `${title}: not there after ${Math.round(ms / 1000)} s; it is asked again`,
  )
}

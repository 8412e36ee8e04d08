// A cache of registry contents that also shares reads in progress.
//
//   R1. A pass waits only a few seconds for a registry, because it occupies a slot. The read continues without the pass, and its result is in the
//       cache when the retryable failure makes the pass ask again.
//   R2. The cache key contains the credential: content is only returned to callers with the credential with which it was read.
//   R3. All resources are bounded: cached content in bytes and time; reads in progress in number (per namespace and in total) and time.

import { retryableFailure } from '../../kube/errors.ts'
import { unlessAborted } from '../deploy/target/shared-work.ts'

export interface Reading {
  /** Contains the credential (R2). */
  readonly key: string
  /** For messages. */
  readonly title: string
  readonly namespace: string
  /** Ends the wait, not the read. */
  readonly signal: AbortSignal | undefined
  /** How long the content may be cached. */
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

/** How long a failure is kept for callers that ask again. */
const TELL_MS = 120_000
/** The minimum wait of a caller that joins late, because many reads end soon. */
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
  /** In the order of the last use. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0
  readonly #flights = new Map<string, Flight>()
  readonly #closing = new AbortController()

  constructor(now: () => Date, limits: ReadLimits = READ_LIMITS) {
    this.#now = now
    this.#limits = limits
  }

  /** @throws the errors of `read`; retryable `RegistryUnavailable` when the read is slow, or too many reads are in progress; the signal's reason. */
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
      // All waiting callers get the failure; the next call reads again.
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

  /** Implements R3. */
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

  /** Removes expired failures, and the oldest of too many: they must not block new reads. */
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

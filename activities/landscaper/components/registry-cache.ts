// A cache of registry contents that also shares reads in progress.
//
//   R1. A pass waits only a few seconds for a registry, because it occupies a slot. The read continues without the pass, and its result is in the
//       cache when the retryable failure makes the pass ask again.
//   R2. The cache key contains the credential: content is only returned to callers with the credential with which it was read.
//   R3. All resources are bounded: cached content in bytes and time; reads in progress in number (per namespace and in total) and time.

import { retryableFailure } from '../../kube/errors.ts'
import { unlessAborted } from '../deploy/target/shared-work.ts'

export interface ReadRequest {
  /** Contains the credential (R2). */
  readonly key: string
  /** For messages. */
  readonly title: string
  readonly namespace: string
  /** Ends the wait, not the read. */
  readonly signal: AbortSignal | undefined
  /** How long the content may be cached. */
  readonly ttlMs: number
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
const FAILURE_TTL_MS = 120_000
/** The minimum wait of a caller that joins late, because many reads end soon. */
const MIN_WAIT_MS = 100

interface CachedContent {
  readonly bytes: Buffer
  readonly untilMs: number
}

interface PendingRead {
  readonly namespace: string
  readonly startedMs: number
  readonly result: Promise<Buffer>
  endedMs?: number
}

export class RegistryCache {
  readonly #limits: ReadLimits
  readonly #now: () => Date
  /** In the order of the last use. */
  readonly #cached = new Map<string, CachedContent>()
  #cachedBytes = 0
  readonly #pending = new Map<string, PendingRead>()
  readonly #closing = new AbortController()

  constructor(now: () => Date, limits: ReadLimits = READ_LIMITS) {
    this.#now = now
    this.#limits = limits
  }

  /** @throws the errors of `read`; retryable `RegistryUnavailable` when the read is slow, or too many reads are in progress; the signal's reason. */
  async of(request: ReadRequest): Promise<Buffer> {
    const content = this.#get(request.key)
    if (content !== undefined) return content
    const pending = this.#pending.get(request.key) ?? this.#start(request)
    const sinceMs = this.#nowMs() - pending.startedMs
    const deadline = AbortSignal.timeout(Math.max(MIN_WAIT_MS, this.#limits.waitMs - sinceMs))
    const { signal } = request
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
    let isLate = false
    try {
      return await unlessAborted(pending.result, either)
    } catch (error) {
      isLate = either.aborted && pending.endedMs === undefined
      if (isLate && signal?.aborted !== true) throw tooSlow(request, Math.max(sinceMs, this.#limits.waitMs))
      throw error
    } finally {
      // All waiting callers get the failure; the next call reads again.
      if (!isLate && pending.endedMs !== undefined) this.#removePending(request.key, pending)
    }
  }

  close(): void {
    this.#closing.abort(retryableFailure('RegistryUnavailable', 'the worker stops'))
  }

  #start(request: ReadRequest): PendingRead {
    const { key, namespace, title } = request
    this.#checkLimits(title, namespace)
    const limit = AbortSignal.timeout(this.#limits.readMs)
    const signal = AbortSignal.any([limit, this.#closing.signal])
    const work = request.read(signal).catch((error: unknown) => {
      throw limit.aborted ? tooSlow(request, this.#limits.readMs) : error
    })
    const pending: PendingRead = { namespace, startedMs: this.#nowMs(), result: work }
    this.#pending.set(key, pending)
    work.then(
      (bytes) => {
        this.#store(key, { bytes, untilMs: this.#nowMs() + request.ttlMs })
        this.#removePending(key, pending)
      },
      () => {
        pending.endedMs = this.#nowMs()
      },
    )
    return pending
  }

  /** Implements R3. */
  #checkLimits(title: string, namespace: string): void {
    this.#removeExpiredFailures()
    const running = [...this.#pending.values()].filter(({ endedMs }) => endedMs === undefined)
    const own = running.filter((one) => one.namespace === namespace)
    const { reads, readsOfNamespace } = this.#limits
    if (running.length < reads && own.length < readsOfNamespace) return
    const found = `found ${own.length} downloads of this namespace and ${running.length} in total`
    throw retryableFailure(
      'RegistryUnavailable',
      `${title}: ${found}; expected fewer than ${readsOfNamespace} and ${reads}; Pawl retries`,
    )
  }

  /** Removes expired failures, and the oldest of too many: they must not block new reads. */
  #removeExpiredFailures(): void {
    const tooOld = this.#nowMs() - FAILURE_TTL_MS
    let excess = this.#pending.size - 2 * this.#limits.reads + 1
    for (const [key, { endedMs }] of this.#pending) {
      if (endedMs === undefined || (endedMs >= tooOld && excess <= 0)) continue
      this.#pending.delete(key)
      excess -= 1
    }
  }

  #removePending(key: string, pending: PendingRead): void {
    if (this.#pending.get(key) === pending) this.#pending.delete(key)
  }

  #get(key: string): Buffer | undefined {
    const content = this.#cached.get(key)
    if (content === undefined) return undefined
    this.#remove(key)
    if (content.untilMs <= this.#nowMs()) return undefined
    this.#cached.set(key, content)
    this.#cachedBytes += content.bytes.length
    return content.bytes
  }

  #store(key: string, content: CachedContent): void {
    this.#remove(key)
    this.#cached.set(key, content)
    this.#cachedBytes += content.bytes.length
    for (const oldest of this.#cached.keys()) {
      if (this.#cachedBytes <= this.#limits.keptBytes) break
      this.#remove(oldest)
    }
  }

  #remove(key: string): void {
    this.#cachedBytes -= this.#cached.get(key)?.bytes.length ?? 0
    this.#cached.delete(key)
  }

  #nowMs(): number {
    return this.#now().getTime()
  }
}

function tooSlow({ title }: ReadRequest, ms: number): Error {
  return retryableFailure('RegistryUnavailable', `${title}: not loaded after ${Math.round(ms / 1000)} s; Pawl retries`)
}

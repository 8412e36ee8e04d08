// Injects random faults into one lane of the storm. A lane is one Pawl (a bridge and a worker) with its own namespace,
// and with proxies to the API server, PostgreSQL and Temporal.
//
//   N1. A fault counts only if there is a request, a connection or a process to inject it into. Exception:
//       `PostgreSQL connections all cut` counts also without a connection.
//   N2. At most one process of a lane is stopped or killed at a time. The process continues or restarts afterwards.
//   N3. The 409 fault is not injected into creates: for an update, 409 means a conflict; for a create, it means that
//       the object exists.
//   N4. API faults concern only writes of the worker. The only fault of the bridge's API requests is `watches cut`.

import { setTimeout as sleep } from 'node:timers/promises'
import type { WriteFault } from '../faults/http-proxy.ts'
import { closeLane, type Lane, openLane } from '../faults/lane.ts'
import { drawn } from '../matrix/dice.ts'
import { TcpProxy } from '../faults/tcp-proxy.ts'
import type { TestServers } from '../servers/servers.ts'
import { PRODUCTION_TIMEOUTS } from '../pawl/stage.ts'

/** Kinds of faults with their relative frequencies. */
export const FAULT_WEIGHTS = {
  'API 500': 10,
  'API 429': 3,
  'API 409': 8,
  'API request lost': 12,
  'API answer lost': 16,
  'watches cut': 8,
  'PostgreSQL connection cut': 12,
  'PostgreSQL answer lost': 14,
  'PostgreSQL connections all cut': 2,
  'Temporal connection cut': 3,
  'Temporal answer lost': 5,
  'process stopped for a while': 1,
  'process killed': 0.2,
} as const
export type Fault = keyof typeof FAULT_WEIGHTS

/** `lost before`: the server does not get the request. `lost after`: it executes the request; the answer is lost. */
const API_FAULTS: Readonly<Partial<Record<Fault, WriteFault>>> = {
  'API 500': { status: 500, reason: 'InternalError' },
  'API 429': { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
  'API 409': { status: 409, reason: 'Conflict' },
  'API request lost': 'lost before',
  'API answer lost': 'lost after',
}
/** Maximum number of API faults that wait for a write. `strike` drops an API fault that exceeds it. */
const MOST_WAITING = 8
const MOST_STARTS = 5
const LONGEST_STOP_MS = 3000

export class StormLane {
  readonly lane: Lane
  readonly counts = new Map<Fault, number>()
  readonly #journal: TcpProxy
  readonly #temporal: TcpProxy
  readonly #random: () => number
  /** API faults for later writes, the oldest first. */
  #waiting: Fault[] = []
  /** Set while a process is stopped or restarts (N2). */
  #process: Promise<void> | undefined
  /** The first error of a restart. */
  #failure: Error | undefined

  private constructor(lane: Lane, journal: TcpProxy, temporal: TcpProxy, random: () => number) {
    this.lane = lane
    this.#journal = journal
    this.#temporal = temporal
    this.#random = random
    // Without a trap for one write. The proxy of the worker calls #disturb for each write.
    lane.proxy.arm(undefined, (label) => this.#disturb(label))
  }

  static async open(name: string, servers: TestServers, random: () => number): Promise<StormLane> {
    const [journal, temporal] = await Promise.all([
      TcpProxy.to(Number(new URL(servers.databaseUrl).port)),
      TcpProxy.to(Number(servers.temporalAddress.split(':')[1])),
    ])
    // The addresses of the proxies in place of the servers' addresses.
    const through = {
      ...servers,
      databaseUrl: journal.through(servers.databaseUrl),
      temporalAddress: `127.0.0.1:${temporal.port}`,
    }
    const lane = await openLane(name, through, { workerFlags: PRODUCTION_TIMEOUTS })
    return new StormLane(lane, journal, temporal, random)
  }

  /** The number of faults that count (N1). */
  get struck(): number {
    return [...this.counts.values()].reduce((total, count) => total + count, 0)
  }

  /**
   * Draws a fault. An API fault waits for a later write; the lane injects all other faults at once.
   *
   * @throws the error of a process that could not be restarted: without it, no fault may strike any more.
   */
  strike(): void {
    if (this.#failure !== undefined) throw this.#failure
    const fault = drawn(FAULT_WEIGHTS, this.#random())
    if (fault in API_FAULTS) {
      if (this.#waiting.length < MOST_WAITING) this.#waiting.push(fault)
    } else if (this.#act(fault)) this.#count(fault)
  }

  /**
   * Discards the waiting faults, and waits for a process that is stopped or restarts.
   *
   * @throws the error of a process that could not be restarted.
   */
  async calm(): Promise<void> {
    this.#waiting = []
    await this.#process?.catch(() => undefined)
    if (this.#failure !== undefined) throw this.#failure
  }

  async close(): Promise<void> {
    await this.#process?.catch(() => undefined)
    await closeLane(this.lane)
    await Promise.all([this.#journal.stop(), this.#temporal.stop()])
  }

  /** Called for each write of the worker. @returns the fault of the write; undefined for none. */
  #disturb(label: string): WriteFault | undefined {
    const isFitting = (fault: Fault) => !(fault === 'API 409' && label.startsWith('POST '))
    const at = this.#waiting.findIndex(isFitting)
    // Fails at most 30% of the writes: if all failed, no job would progress, and no fault would hit later writes.
    if (at === -1 || this.#random() < 0.7) return undefined
    const [fault] = this.#waiting.splice(at, 1)
    this.#count(fault!)
    return API_FAULTS[fault!]
  }

  /** Injects a fault that is no API fault. @returns whether there was a connection or process for it (N1). */
  #act(fault: Fault): boolean {
    switch (fault) {
      case 'watches cut':
        return this.lane.bridgeProxy.cutWatches() > 0
      case 'PostgreSQL connection cut':
        return this.#journal.cutOne(this.#random())
      case 'PostgreSQL answer lost':
        return this.#journal.loseAnswer(this.#random())
      case 'PostgreSQL connections all cut':
        this.#journal.cutAll()
        return true
      case 'Temporal connection cut':
        return this.#temporal.cutOne(this.#random())
      case 'Temporal answer lost':
        return this.#temporal.loseAnswer(this.#random())
      default:
        return this.#toProcess(fault)
    }
  }

  /** Stops or kills a process, unless another one is stopped or killed (N2). */
  #toProcess(fault: Fault): boolean {
    if (this.#process !== undefined) return false
    const part = this.#random() < 0.5 ? 'worker' : 'bridge'
    const stopMs = this.#random() * LONGEST_STOP_MS
    const over = fault === 'process killed' ? this.#replace(part) : this.#pause(part, stopMs)
    this.#process = over.finally(() => (this.#process = undefined))
    this.#process.catch((error: unknown) => {
      this.#failure ??= error instanceof Error ? error : new Error(String(error))
    })
    return true
  }

  async #replace(part: 'worker' | 'bridge'): Promise<void> {
    const { pawl } = this.lane
    for (let start = 1; ; start++) {
      await pawl.kill(part)
      try {
        await (part === 'worker' ? pawl.startWorker() : pawl.startBridge())
        return
      } catch (error) {
        // A start may fail, because the storm continues meanwhile. The kubelet would start the process again.
        if (start === MOST_STARTS) throw error
      }
    }
  }

  async #pause(part: 'worker' | 'bridge', ms: number): Promise<void> {
    const child = this.lane.pawl.child(part)
    child.kill('SIGSTOP')
    await sleep(ms)
    child.kill('SIGCONT')
  }

  #count(fault: Fault): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
  }
}

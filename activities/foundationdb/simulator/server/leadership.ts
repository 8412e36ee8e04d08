// Elects one fdbserver that runs the simulation. The first coordinator that gets the votes of a majority leads.
//
// L1. Two processes never lead at the same time, because each coordinator votes for one of them only.
// L2. The leader leads until it ends, also when the coordinators change.

import type { ConnectionString } from '../core/connection-string.ts'
import type { CoordinatedState } from '../core/state.ts'
import type { Coordinator } from './coordinator.ts'
import { type Connection, dial } from './json-lines.ts'

const RETRY_MS = 50
/** How long a coordinator leaves the election to the coordinators before it in the list. */
const PRECEDENCE_MS = 2000

export interface Candidate {
  readonly address: string
  readonly key: (connection: ConnectionString) => string
  readonly coordinator: Coordinator
  /** The present connection string. */
  readonly connection: () => ConnectionString
}

const wait = async (ms: number): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

export class Leadership {
  private readonly votes = new Map<string, Connection>()
  private readonly candidate: Candidate
  private leading = false
  private stopped = false
  private saving: Promise<unknown> = Promise.resolve()
  private latest: CoordinatedState | undefined

  constructor(candidate: Candidate) {
    this.candidate = candidate
  }

  stop(): void {
    this.stopped = true
    for (const vote of this.votes.values()) vote.close()
  }

  /** Resolves with the newest state when this process leads. Never resolves if it does not come to that. */
  async elected(): Promise<CoordinatedState | undefined> {
    let waitedMs = 0
    for (;;) {
      await wait(RETRY_MS * (1 + Math.random()))
      if (this.stopped) return await new Promise<never>(() => undefined)
      if (!this.isCoordinator() || this.candidate.coordinator.hasVoted) continue
      if (waitedMs < PRECEDENCE_MS && (await this.hasPredecessor())) {
        waitedMs += RETRY_MS
        continue
      }
      const states = await this.collectVotes()
      if (states === undefined) continue
      this.leading = true
      void this.keepVotes()
      return states.sort((a, b) => b.version - a.version)[0]
    }
  }

  private isCoordinator(): boolean {
    return this.candidate.connection().coordinators.includes(this.candidate.address)
  }

  private async hasPredecessor(): Promise<boolean> {
    const { coordinators } = this.candidate.connection()
    const before = coordinators.slice(0, coordinators.indexOf(this.candidate.address))
    const reached = await Promise.all(before.map(dial))
    for (const connection of reached) connection?.close()
    return reached.some((connection) => connection !== undefined)
  }

  private async collectVotes(): Promise<CoordinatedState[] | undefined> {
    const { candidate } = this
    const connection = candidate.connection()
    const own = candidate.coordinator.vote(candidate.key(connection), candidate.address)
    if (!own.granted) return undefined
    const others = connection.coordinators.filter((address) => address !== candidate.address)
    const answers = await Promise.all(others.map(async (address) => await this.requestVote(address)))
    const granted = [own, ...answers].filter((answer) => answer?.granted === true)
    if (granted.length > connection.coordinators.length / 2) return granted.flatMap((answer) => answer?.state ?? [])
    candidate.coordinator.release(candidate.address)
    for (const vote of this.votes.values()) vote.close()
    this.votes.clear()
    return undefined
  }

  private async requestVote(address: string): Promise<{ granted: boolean; state?: CoordinatedState } | undefined> {
    const { candidate } = this
    const connection = await dial(address)
    if (connection === undefined) return undefined
    try {
      const params = { key: candidate.key(candidate.connection()), candidate: candidate.address }
      const answer = await connection.request('vote', params)
      if (!answer.granted) connection.close()
      else this.keep(address, connection)
      return answer
    } catch {
      connection.close()
      return undefined
    }
  }

  private keep(address: string, connection: Connection): void {
    this.votes.set(address, connection)
    connection.onClose = () => {
      if (this.votes.get(address) === connection) this.votes.delete(address)
    }
  }

  /** Renews votes of coordinators that came back or that are new. */
  private async keepVotes(): Promise<void> {
    while (this.leading && !this.stopped) {
      await wait(RETRY_MS)
      await this.renewVotes()
    }
  }

  /** Gets the votes of all reachable coordinators, and gives the new ones the state. */
  async renewVotes(): Promise<void> {
    const { candidate } = this
    const { coordinators } = candidate.connection()
    if (coordinators.includes(candidate.address)) {
      candidate.coordinator.vote(candidate.key(candidate.connection()), candidate.address)
    }
    for (const address of coordinators) {
      if (address === candidate.address || this.votes.has(address)) continue
      const answer = await this.requestVote(address)
      if (answer?.granted === true && this.latest !== undefined) await this.saveOn(address, this.latest)
    }
  }

  /** After a change of the connection string: the key of the votes is another one. */
  async moveVotes(): Promise<void> {
    for (const vote of this.votes.values()) vote.close()
    this.votes.clear()
    await this.renewVotes()
  }

  save(state: CoordinatedState): void {
    this.latest = state
    const { coordinators } = this.candidate.connection()
    if (coordinators.includes(this.candidate.address)) this.candidate.coordinator.save(state)
    const saved = [...this.votes.keys()].map(async (address) => {
      await this.saveOn(address, state)
    })
    this.saving = Promise.all([this.saving, ...saved])
  }

  /** Resolves when everything that was saved so far is on the reachable coordinators. */
  async saved(): Promise<void> {
    await this.saving
  }

  private async saveOn(address: string, state: CoordinatedState): Promise<void> {
    try {
      await this.votes.get(address)?.request('save', { state })
    } catch {
      // A coordinator that ends gets the state when it votes again.
    }
  }
}

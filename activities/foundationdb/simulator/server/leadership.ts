// Elects one fdbserver that runs the simulation. The first coordinator that gets the votes of a majority leads.
//
// L1. Two processes never lead at the same time, because each coordinator votes for one of them only.
// L2. The leader leads until it ends, also when the coordinators change.
// L3. New coordinators vote for the leader and have the state before any process knows that they are coordinators. Otherwise
//     they would elect another leader, one without the state.

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

/** By address of the coordinator. */
type Votes = Map<string, Connection>

export class Leadership {
  private votes: Votes = new Map()
  /** L3. The votes for the connection string that comes next. */
  private prepared: { readonly key: string; readonly votes: Votes } | undefined
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
    for (const vote of [...this.votes.values(), ...(this.prepared?.votes.values() ?? [])]) vote.close()
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
      this.latest = states.sort((a, b) => b.version - a.version)[0]
      void this.keepVotes()
      return this.latest
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
    const key = candidate.key(connection)
    const own = candidate.coordinator.vote(key, candidate.address)
    if (!own.granted) return undefined
    const others = connection.coordinators.filter((address) => address !== candidate.address)
    const answers = await Promise.all(others.map(async (address) => await this.requestVote(address, key, this.votes)))
    const granted = [own, ...answers].filter((answer) => answer?.granted === true)
    if (granted.length > connection.coordinators.length / 2) return granted.flatMap((answer) => answer?.state ?? [])
    candidate.coordinator.release(candidate.address)
    for (const vote of this.votes.values()) vote.close()
    this.votes.clear()
    return undefined
  }

  private async requestVote(
    address: string,
    key: string,
    votes: Votes,
  ): Promise<{ granted: boolean; state?: CoordinatedState } | undefined> {
    const connection = await dial(address)
    if (connection === undefined) return undefined
    try {
      const answer = await connection.request('vote', { key, candidate: this.candidate.address })
      if (!answer.granted) connection.close()
      else keep(votes, address, connection)
      return answer
    } catch {
      connection.close()
      return undefined
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
    await this.voteOn(this.candidate.connection(), this.votes)
  }

  private async voteOn(connection: ConnectionString, votes: Votes): Promise<void> {
    const { candidate } = this
    const key = candidate.key(connection)
    if (connection.coordinators.includes(candidate.address)) candidate.coordinator.vote(key, candidate.address)
    for (const address of connection.coordinators) {
      if (address === candidate.address || votes.has(address)) continue
      const answer = await this.requestVote(address, key, votes)
      if (answer?.granted === true && this.latest !== undefined) await saveOn(votes.get(address), this.latest)
    }
  }

  /** L3. @returns whether a majority of the next coordinators votes for this leader and has the state. */
  async prepare(next: ConnectionString): Promise<boolean> {
    const votes: Votes = new Map()
    for (const vote of this.prepared?.votes.values() ?? []) vote.close()
    this.prepared = { key: this.candidate.key(next), votes }
    await this.voteOn(next, votes)
    const own = next.coordinators.includes(this.candidate.address) ? 1 : 0
    return votes.size + own > next.coordinators.length / 2
  }

  /** After a change of the connection string: the prepared votes count. */
  async moveVotes(): Promise<void> {
    const { candidate, prepared } = this
    const isPrepared = prepared?.key === candidate.key(candidate.connection())
    for (const vote of this.votes.values()) vote.close()
    this.votes = isPrepared ? prepared.votes : new Map<string, Connection>()
    if (isPrepared) this.prepared = undefined
    candidate.coordinator.release(candidate.address)
    await this.renewVotes()
  }

  save(state: CoordinatedState): void {
    this.latest = state
    this.candidate.coordinator.save(state)
    const votes = [...this.votes.values(), ...(this.prepared?.votes.values() ?? [])]
    const saved = votes.map(async (vote) => {
      await saveOn(vote, state)
    })
    this.saving = Promise.all([this.saving, ...saved])
  }

  /** Resolves when everything that was saved so far is on the reachable coordinators. */
  async saved(): Promise<void> {
    await this.saving
  }
}

function keep(votes: Votes, address: string, connection: Connection): void {
  votes.set(address, connection)
  connection.onClose = () => {
    if (votes.get(address) === connection) votes.delete(address)
  }
}

async function saveOn(vote: Connection | undefined, state: CoordinatedState): Promise<void> {
  try {
    await vote?.request('save', { state })
  } catch {
    // A coordinator that ends gets the state when it votes again.
  }
}

// The coordinator in each fdbserver: it votes for one leader at a time and persists the state of the database.
//
// O1. A vote lasts as long as the connection over which it was given. So it ends when the leader dies.
// O2. A vote comes with the newest state that this coordinator has.
// O3. While the coordinators change, the leader has votes for the old and for the new connection string. After the change
//     the old connection string gets no votes, because the database has the new one.

import type { Socket } from 'node:net'

import type { CoordinatedState } from '../core/state.ts'
import type { DataDirectory } from './data-directory.ts'

/** A process that cannot join asks every 50 ms. */
const INCOMPATIBLE_MS = 1000

export class Coordinator {
  private readonly directory: DataDirectory
  /** By connection string, all for the same candidate. */
  private readonly grants = new Map<string, { readonly candidate: string }>()
  private moved: Record<string, string>
  private state: CoordinatedState | undefined
  private readonly foreign = new Map<string, number>()

  constructor(directory: DataDirectory) {
    this.directory = directory
    this.moved = directory.loadMoved()
    this.state = directory.loadState()
  }

  /** `socket` undefined: this process votes for itself, until `release`. */
  vote(key: string, candidate: string, socket?: Socket): { granted: boolean; state?: CoordinatedState } {
    const isForOther = [...this.grants.values()].some((grant) => grant.candidate !== candidate)
    // O3
    if (isForOther || this.moved[key] !== undefined) return { granted: false }
    const grant = { candidate }
    this.grants.set(key, grant)
    socket?.once('close', () => {
      if (this.grants.get(key) === grant) this.grants.delete(key)
    })
    return { granted: true, ...(this.state !== undefined && { state: this.state }) }
  }

  /** Remembers processes of this database that speak another protocol; they cannot join. */
  notice(process: string, key: string, ownKey: string): void {
    const database = (text: string) => text.slice(text.indexOf('/'))
    if (key !== ownKey && database(key) === database(ownKey)) this.foreign.set(process, Date.now())
    else this.foreign.delete(process)
  }

  /** Addresses of processes with another protocol whose requests arrived recently. */
  incompatible(): string[] {
    const now = Date.now()
    return [...this.foreign].filter(([, at]) => now - at < INCOMPATIBLE_MS).map(([address]) => address)
  }

  release(candidate: string): void {
    for (const [key, grant] of this.grants) if (grant.candidate === candidate) this.grants.delete(key)
  }

  get hasVoted(): boolean {
    return this.grants.size > 0
  }

  locate(key: string): { leader?: string; moved?: string } {
    const grant = this.grants.get(key)
    if (grant !== undefined) return { leader: grant.candidate }
    const moved = this.moved[key]
    return moved === undefined ? {} : { moved }
  }

  save(state: CoordinatedState): void {
    this.state = state
    this.directory.saveState(state)
  }

  /** Clients with the old connection string are sent to the new one. */
  forward(key: string, connection: string): void {
    this.moved = { ...this.moved, [key]: connection }
    this.directory.saveMoved(this.moved)
  }
}

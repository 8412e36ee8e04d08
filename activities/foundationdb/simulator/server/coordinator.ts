// The coordinator in each fdbserver: it votes for one leader at a time and persists the state of the database.
//
// O1. A vote lasts as long as the connection over which it was given. So it ends when the leader dies.
// O2. A vote comes with the newest state that this coordinator has.

import type { Socket } from 'node:net'

import type { CoordinatedState } from '../core/state.ts'
import type { DataDirectory } from './data-directory.ts'

/** A process that cannot join asks every 50 ms. */
const INCOMPATIBLE_MS = 1000

export class Coordinator {
  private readonly directory: DataDirectory
  private grant: { readonly key: string; readonly candidate: string } | undefined
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
    if (this.grant !== undefined && this.grant.candidate !== candidate) return { granted: false }
    const grant = { key, candidate }
    this.grant = grant
    socket?.once('close', () => {
      if (this.grant === grant) this.grant = undefined
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
    if (this.grant?.candidate === candidate) this.grant = undefined
  }

  get hasVoted(): boolean {
    return this.grant !== undefined
  }

  locate(key: string): { leader?: string; moved?: string } {
    if (this.grant?.key === key) return { leader: this.grant.candidate }
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

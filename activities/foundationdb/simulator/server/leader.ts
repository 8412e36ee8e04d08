// Runs the simulation in the leading fdbserver, for processes and clients that connect by TCP.

import type { Socket } from 'node:net'

import type { Clock } from '../core/clock.ts'
import { clientHandlers, type ClientHandlers } from '../core/client-requests.ts'
import { type ConnectionString, formatConnectionString } from '../core/connection-string.ts'
import { Database } from '../core/database.ts'
import type { ProcessDescription } from '../core/process.ts'
import type { CoordinatedState, Mutation } from '../core/state.ts'
import type { ServerEvent } from '../protocol.ts'
import { send } from './json-lines.ts'
import type { Leadership } from './leadership.ts'

/** How long a client that went away is shown in status. Source: SURPRISES 42. */
const CLIENT_SECONDS = 60

interface Member {
  readonly socket: Socket
  readonly written: Map<number, () => void>
  next: number
}

interface ClientRecord {
  readonly address: string
  readonly logGroup: string
  goneAt: number | undefined
}

export class Leader {
  readonly database: Database
  readonly handlers: ClientHandlers
  private readonly members = new Map<string, Member>()
  private clients: ClientRecord[] = []
  private readonly leadership: Leadership

  constructor(
    connection: ConnectionString,
    saved: CoordinatedState | undefined,
    parts: {
      readonly clock: Clock
      readonly leadership: Leadership
      /** Addresses of processes that cannot join because of their version. */
      readonly incompatible: () => readonly string[]
      readonly changeConnection: (next: ConnectionString) => void
    },
  ) {
    this.leadership = parts.leadership
    this.database = new Database(connection, {
      clock: parts.clock,
      random: Math.random,
      effects: {
        persist: async (process, mutations) => {
          await this.persist(process, mutations)
        },
        exit: (process) => {
          this.push(process, { event: 'exit' })
        },
        prepare: async (next) => await this.leadership.prepare(next),
        announce: (next) => {
          parts.changeConnection(next)
          for (const id of this.members.keys()) this.push(id, { event: 'connection', connection: next })
        },
        save: (state) => {
          this.leadership.save(state)
        },
      },
    })
    if (saved !== undefined) this.database.state.restore(saved)
    this.handlers = clientHandlers(this.database, {
      clients: () => this.clients,
      incompatible: parts.incompatible,
      wallSeconds: () => Date.now() / 1000,
    })
  }

  private push(id: string, event: ServerEvent): void {
    const member = this.members.get(id)
    if (member !== undefined) send(member.socket, event)
  }

  private async persist(id: string, mutations: readonly Mutation[]): Promise<void> {
    const member = this.members.get(id)
    if (member === undefined) return
    const number = member.next++
    await new Promise<void>((resolve) => {
      member.written.set(number, resolve)
      send(member.socket, { event: 'persist', number, mutations })
    })
  }

  register(description: ProcessDescription, stored: Iterable<readonly [string, string]>, socket: Socket): void {
    const member: Member = { socket, written: new Map(), next: 1 }
    this.members.set(description.id, member)
    socket.once('close', () => {
      for (const resolve of member.written.values()) resolve()
      if (this.members.get(description.id) !== member) return
      this.members.delete(description.id)
      this.database.lose(description.id)
    })
    this.database.register(description, stored)
    this.push(description.id, { event: 'connection', connection: this.database.state.connection })
  }

  persisted(socket: Socket, number: number): void {
    const member = [...this.members.values()].find((each) => each.socket === socket)
    member?.written.get(number)?.()
    member?.written.delete(number)
  }

  addClient(logGroup: string, socket: Socket): { connection: ConnectionString } {
    const { clock, now } = { clock: this.database.state.clock, now: this.database.state.now() }
    this.clients = this.clients.filter(({ goneAt }) => goneAt === undefined || now - goneAt < CLIENT_SECONDS)
    const record: ClientRecord = {
      address: `${socket.remoteAddress ?? ''}:${String(socket.remotePort ?? 0)}`,
      logGroup,
      goneAt: undefined,
    }
    this.clients.push(record)
    socket.once('close', () => {
      record.goneAt = clock.now()
    })
    return { connection: this.database.state.connection }
  }

  /** Changes of coordinators and configuration are answered when the coordinators have them. */
  async settled(): Promise<void> {
    await this.leadership.saved()
  }

  get connectionText(): string {
    return formatConnectionString(this.database.state.connection)
  }
}

// How a client reaches a database. The executables use TCP; tests use an object in the same process.
//
// G1. A request that loses its connection is sent again over the next one, except `kill`.

import { type Clock, sleep } from '../core/clock.ts'
import type { ConnectionString } from '../core/connection-string.ts'
import type { ClientOperations } from '../protocol.ts'

export class ConnectionLost extends Error {}

export interface Session {
  /** The database's current connection string, which differs from the client's after a change of coordinators. */
  readonly connection: ConnectionString
  /** @throws ConnectionLost, or an error with FoundationDB's number in `code`. */
  readonly request: <N extends keyof ClientOperations>(
    operation: N,
    params: ClientOperations[N]['params'],
  ) => Promise<ClientOperations[N]['result']>
  readonly close: () => void
}

export interface Gateway {
  /** Whether an fdbserver answers at the address. */
  readonly isReachable: (address: string) => Promise<boolean>
  /** One try to find the cluster controller. Undefined: no coordinator knows it. */
  readonly open: (connection: ConnectionString) => Promise<Session | undefined>
}

const RETRY_SECONDS = 0.05

/** Keeps a session to the cluster controller, and opens the next one when it is lost. */
export class Client {
  private current: Promise<Session> | undefined
  private closed = false
  private readonly clock: Clock
  private readonly gateway: Gateway
  private readonly connection: ConnectionString

  constructor(clock: Clock, gateway: Gateway, connection: ConnectionString) {
    this.clock = clock
    this.gateway = gateway
    this.connection = connection
  }

  async request<N extends keyof ClientOperations>(
    operation: N,
    params: ClientOperations[N]['params'],
  ): Promise<ClientOperations[N]['result']> {
    for (;;) {
      if (this.closed) throw new ConnectionLost('the client is closed')
      const session = await this.session()
      try {
        return await session.request(operation, params)
      } catch (error) {
        if (!(error instanceof ConnectionLost) || operation === 'kill') throw error
        this.current = undefined
        await sleep(this.clock, RETRY_SECONDS)
      }
    }
  }

  /** Resolves as soon as there is a cluster controller. */
  async session(): Promise<Session> {
    this.current ??= this.openSession()
    return await this.current
  }

  private async openSession(): Promise<Session> {
    for (;;) {
      const session = await this.gateway.open(this.connection)
      if (this.closed) session?.close()
      else if (session !== undefined) return session
      if (this.closed) return await new Promise<never>(() => undefined)
      await sleep(this.clock, RETRY_SECONDS)
    }
  }

  isReachable(address: string): Promise<boolean> {
    return this.gateway.isReachable(address)
  }

  close(): void {
    this.closed = true
    void this.current?.then((session) => {
      session.close()
    })
  }
}

// Connection pool that notices silently broken connections, as after a failover, also those that only receive
// (watches).
//
//   A1. Over HTTP/2, as API servers use it, the client pings the server; a connection without received bytes for 20 s
//       is closed, and its requests fail.
//   A2. Over HTTP/1.1, which has no ping, the operating system probes the connection (keep-alive); it is dead after 20
//       s without an answer.
//   A3. Time in which this process does not run, for example while it is stopped, does not count.

import type { Socket } from 'node:net'

import { Agent, type buildConnector } from 'undici'

/** Load balancers drop silent connections after a minute; the operating system probes ten times, once per second. */
export const PROBE_AFTER_MS = 10_000

export interface SilenceLimits {
  /** Milliseconds between two pings (8,000). */
  readonly pingMs?: number
  /** Milliseconds without a byte after which a connection is closed (20,000). */
  readonly silentMs?: number
}

const PING_MS = 8000
const SILENT_MS = 20_000
const CHECKS = 10

/** Creates a pool whose connections are opened by `connect`. */
export function createLiveAgent(connect: buildConnector.connector, limits: SilenceLimits = {}): Agent {
  const { pingMs = PING_MS, silentMs = SILENT_MS } = limits
  return new Agent({
    h2Options: { pingInterval: pingMs },
    connect: (options, callback) => {
      connect(options, (...made) => {
        const [failure, socket] = made
        if (failure === null && isPinged(socket)) closeWhenSilent(socket, silentMs)
        callback(...made)
      })
    },
  })
}

function isPinged(socket: Socket): boolean {
  return 'alpnProtocol' in socket && socket.alpnProtocol === 'h2'
}

function closeWhenSilent(socket: Socket, silentMs: number): void {
  let known = socket.bytesRead
  // Counted in checks, not by a clock (A3).
  let silent = 0
  const looking = setInterval(() => {
    silent = socket.bytesRead === known ? silent + 1 : 0
    known = socket.bytesRead
    if (silent >= CHECKS) socket.destroy(silenceError(silentMs))
  }, silentMs / CHECKS)
  looking.unref()
  socket.once('close', () => {
    clearInterval(looking)
  })
}

function silenceError(ms: number): Error {
  return Object.assign(new Error(`the server sent nothing for ${ms} ms; expected at least answers to pings`), {
    code: 'ETIMEDOUT',
  })
}

// Connections to API servers of which a silent end is noticed, as after a failover, also of those on which somebody only listens.
//
//   A1. Over HTTP/2, as API servers have it, the server is pinged, and a connection on which nothing came for 20 s is closed with all that waits on it.
//   A2. Over HTTP/1.1 there is no such question: the system probes the connection (keep-alive), dead after 20 s without an answer.
//   A3. A time in which this process does nothing, such as one in which it is stopped, is no silence of the server's.

import type { Socket } from 'node:net'

import { Agent, type buildConnector } from 'undici'

/** Load balancers forget silent connections after a minute; the system probes ten times, each second. */
export const PROBE_AFTER_MS = 10_000

export interface SilenceLimits {
  /** Milliseconds between two pings (8,000). */
  readonly pingMs?: number
  /** After which a connection without a byte is closed (20,000). */
  readonly silentMs?: number
}

const PING_MS = 8000
const SILENT_MS = 20_000
const CHECKS = 10

/** A pool whose connections `connect` makes. */
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
  // Counted in looks, not by a clock (A3).
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
  return Object.assign(new Error(`nothing came for ${ms} ms, expected at least answers to pings`), {
    code: 'ETIMEDOUT',
  })
}

// GET /healthz: the process runs. GET /readyz: every kind is caught up, or another bridge follows it; else 503 and which kinds are not.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Reflector } from './reflector.ts'

export interface Health {
  readonly port: number
  close(): Promise<void>
}

/** Listens on the loopback interface unless `host` says otherwise; port 0 takes a free one. */
export async function serveHealth(reflectors: readonly Reflector[], port: number, host = '127.0.0.1'): Promise<Health> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    const behind = path === '/readyz' ? notCaughtUp(reflectors) : {}
    const known = path === '/healthz' || path === '/readyz'
    const ready = Object.keys(behind).length === 0
    response.statusCode = !known ? 404 : ready ? 200 : 503
    response.setHeader('content-type', 'application/json')
    response.end(`${JSON.stringify(!known ? { error: 'not found' } : ready ? { ok: true } : { ok: false, behind })}\n`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { port: (server.address() as AddressInfo).port, close: async () => await closeServer(server) }
}

/** The kinds that are not caught up, with what they are doing. */
export function notCaughtUp(reflectors: readonly Reflector[]): Record<string, string> {
  return Object.fromEntries(
    reflectors.flatMap((reflector) => {
      const behind = reflector.behind()
      return behind === undefined ? [] : [[reflector.kind, behind]]
    }),
  )
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
}

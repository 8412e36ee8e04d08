// GET /healthz: the process answers. GET /readyz: nothing is wrong; else 503, with what is, under a word of the process's own. GET /metrics: what the process
// counts, where it counts something.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Readiness {
  /** Under which word the answer lists what is wrong, such as `behind`. */
  readonly word: string
  /** What is wrong, by part of the process; empty when it is ready. Asked for each request. */
  readonly wrong: () => Readonly<Record<string, string>>
}

export interface Health {
  readonly port: number
  /** Host and port, for logs. */
  readonly address: string
  close(): Promise<void>
}

/** What people of Prometheus ask for. */
export interface Counting {
  /** Never throws. */
  text(): Promise<string>
}

/** Serves the paths; port 0 takes a free one. @param counting absent: the process counts nothing. */
export async function serveHealth(
  readiness: Readiness,
  host: string,
  port: number,
  counting?: Counting,
): Promise<Health> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    if (counting !== undefined && path === '/metrics') {
      void counting.text().then((text) => {
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
        response.end(text)
      })
      return
    }
    const { status, body } = answer(readiness, path)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(`${JSON.stringify(body)}\n`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return { port: taken, address: `${host}:${taken}`, close: async () => await closeServer(server) }
}

function answer({ word, wrong }: Readiness, path: string | undefined): { status: number; body: object } {
  if (path !== '/healthz' && path !== '/readyz') return { status: 404, body: { error: 'not found' } }
  const found = path === '/readyz' ? wrong() : {}
  return Object.keys(found).length === 0
    ? { status: 200, body: { ok: true } }
    : { status: 503, body: { ok: false, [word]: found } }
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
}

// What the last contact with each server came to, for /readyz of processes that are ready while all answer.

export interface Troubles extends Readiness {
  /** What the last contact with a part came to; undefined = fine. */
  readonly report: (part: string, error: unknown) => void
}

export function createTroubles(): Troubles {
  const troubles = new Map<string, string>()
  return {
    word: 'troubles',
    wrong: () => Object.fromEntries(troubles),
    report(part, error) {
      if (error === undefined) troubles.delete(part)
      else troubles.set(part, error instanceof Error ? error.message : 'no answer')
    },
  }
}

// The HTTP endpoints for health and metrics. GET /healthz: the process answers. GET /readyz: 200, or 503 with the failing parts. GET /metrics: the metrics of
// the process, if it has some.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Readiness {
  /** The field of the answer that lists the failing parts, such as `behind`. */
  readonly field: string
  /** The failing parts, with their errors; empty if the process is ready. Called for each request. */
  readonly failures: () => Readonly<Record<string, string>>
}

export interface Health {
  readonly port: number
  /** Host and port, for logs. */
  readonly address: string
  close(): Promise<void>
}

/** Metrics in Prometheus' text format. */
export interface MetricsText {
  /** Never throws. */
  text(): Promise<string>
}

/** Serves the endpoints; port 0 selects a free port. @param counting absent: the process has no metrics. */
export async function serveHealth(
  readiness: Readiness,
  host: string,
  port: number,
  counting?: MetricsText,
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
  const { port: boundPort } = server.address() as AddressInfo
  return { port: boundPort, address: `${host}:${boundPort}`, close: async () => await closeServer(server) }
}

function answer({ field, failures }: Readiness, path: string | undefined): { status: number; body: object } {
  if (path !== '/healthz' && path !== '/readyz') return { status: 404, body: { error: 'not found' } }
  const failing = path === '/readyz' ? failures() : {}
  return Object.keys(failing).length === 0
    ? { status: 200, body: { ok: true } }
    : { status: 503, body: { ok: false, [field]: failing } }
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
}

// The result of the last call to each server, for /readyz of processes that need all of them.

export interface ReadinessChecks extends Readiness {
  /** Stores the result of a call to a part; undefined: success. */
  readonly report: (part: string, error: unknown) => void
}

export function createReadinessChecks(): ReadinessChecks {
  const results = new Map<string, string>()
  return {
    field: 'troubles',
    failures: () => Object.fromEntries(results),
    report(part, error) {
      if (error === undefined) results.delete(part)
      else results.set(part, error instanceof Error ? error.message : 'no answer')
    },
  }
}

// The HTTP endpoints for health and metrics. GET /healthz: 200 while the process answers. GET /readyz: 200, or 503 with
// the failing dependencies. GET /metrics: the metrics of the process, if it has some. /loglevels: GET shows the log levels,
// PUT changes them; only for requests from this machine or pod, without authentication.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listen } from './listen.ts'

export interface Readiness {
  /**
   * The field of the answer that lists the failures: `behind` for the bridge, whose reflectors may be behind their
   * kinds; `troubles` for worker, webhook and api.
   */
  readonly field: string
  /** The errors by name of the failing dependency; empty if the process is ready. Called for each /readyz request. */
  readonly failures: () => Readonly<Record<string, string>>
}

/** The running HTTP server. */
export interface Health {
  readonly port: number
  /** Host and port, for logs. */
  readonly address: string
  close(): Promise<void>
}

/** Metrics in Prometheus' text format. */
export interface MetricsText {
  readonly contentType: string
  text(): Promise<string>
}

/** The log levels of the process (log.ts). */
export interface ChangeableLevels {
  all(): Readonly<Record<string, string>>
  set(level: string | null, component: string | null): string | undefined
}

export interface HealthOptions {
  readonly metrics?: MetricsText
  readonly logLevels?: ChangeableLevels
}

/** Serves the endpoints; port 0 selects a free port. */
export async function serveHealth(
  readiness: Readiness,
  host: string,
  port: number,
  { metrics: counting, logLevels }: HealthOptions = {},
): Promise<Health> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    if (counting !== undefined && path === '/metrics') {
      void counting.text().then(
        (text) => {
          response.writeHead(200, { 'content-type': counting.contentType })
          response.end(text)
        },
        (error: unknown) => {
          response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' })
          response.end(String(error))
        },
      )
      return
    }
    const { status, body } =
      logLevels !== undefined && path === '/loglevels' ? answerLevels(logLevels, request) : answer(readiness, path)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(`${JSON.stringify(body)}\n`)
  })
  await listen(server, { host, port, flags: ['--health-host', '--health-port'] })
  const { port: boundPort } = server.address() as AddressInfo
  return { port: boundPort, address: `${host}:${boundPort}`, close: async () => await closeServer(server) }
}

interface Answer {
  readonly status: number
  readonly body: object
}

function answer({ field, failures }: Readiness, path: string | undefined): Answer {
  if (path !== '/healthz' && path !== '/readyz') return { status: 404, body: { error: 'not found' } }
  const failing = path === '/readyz' ? failures() : {}
  return Object.keys(failing).length === 0
    ? { status: 200, body: { ok: true } }
    : { status: 503, body: { ok: false, [field]: failing } }
}

/** Processes of other machines cannot change levels, also if the port listens on all addresses. */
function answerLevels(levels: ChangeableLevels, { method, url, socket }: IncomingMessage): Answer {
  if (!/^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? ''))
    return { status: 403, body: { error: 'log levels are for requests from 127.0.0.1 only; use kubectl port-forward' } }
  if (method !== 'PUT') return { status: 200, body: levels.all() }
  const query = new URL(url ?? '', 'http://localhost').searchParams
  const problem = levels.set(query.get('level'), query.get('component'))
  return problem === undefined ? { status: 200, body: levels.all() } : { status: 400, body: { error: problem } }
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
}

/**
 * The result of the last call to each dependency, such as the journal or Temporal. The process is ready if all of
 * these calls succeeded; a dependency without a reported result does not count. A process that must not be ready before
 * its first success reports an error at its start.
 */
export interface ReadinessChecks extends Readiness {
  /** Stores the result of a call to the dependency `part`; `error` is undefined after a success. */
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

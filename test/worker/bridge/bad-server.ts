// An API server for list and watch with protocol errors that a test programs. Listens on the loopback interface only.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKubeClient, type KubeClient, type KubeObject } from '../../../activities/kube/client.ts'

export interface Connection {
  readonly url: URL
  /** Sends one event. */
  send(type: string, object: object): void
  /** Sends text unchanged. */
  raw(text: string): void
  bookmark(version: number): void
  /** Ends the response normally. */
  end(): void
  /** Cuts the connection. */
  cut(): void
}

export interface BadServer {
  readonly kube: KubeClient
  /** Every request so far, as `list` or `watch <resourceVersion>`. */
  readonly requests: string[]
  /** The objects in the responses to list requests. */
  objects: KubeObject[]
  version: number
  /** Each entry rejects one request of its sort, with this status, body and headers. */
  readonly refusals: {
    readonly sort: 'list' | 'watch'
    readonly status: number
    readonly body?: object
    readonly headers?: Record<string, string>
  }[]
  /** The oldest watch connection that this method has not returned; waits for one if there is none. */
  nextWatch(): Promise<Connection>
  close(): Promise<void>
}

export async function startBadServer(): Promise<BadServer> {
  const waiting: ((connection: Connection) => void)[] = []
  const arrived: Connection[] = []
  const http = createServer((request, response) => answer(request, response))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const kube = createKubeClient({ kubeconfig: kubeconfigFor(address) })

  const server: BadServer = {
    kube,
    requests: [],
    objects: [],
    version: 100,
    refusals: [],
    nextWatch: async () => arrived.shift() ?? (await new Promise((resolve) => waiting.push(resolve))),
    async close() {
      http.closeAllConnections()
      http.close()
      await kube.close()
    },
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', address)
    const sort = url.searchParams.has('watch') ? 'watch' : 'list'
    server.requests.push(sort === 'watch' ? `watch ${url.searchParams.get('resourceVersion') ?? ''}` : 'list')
    const index = server.refusals.findIndex((refusal) => refusal.sort === sort)
    const [refusal] = index < 0 ? [] : server.refusals.splice(index, 1)
    if (refusal !== undefined) {
      response.writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers })
      response.end(JSON.stringify(refusal.body ?? { kind: 'Status', code: refusal.status }))
    } else if (sort === 'list') {
      answerList(url, response, server)
    } else {
      const connection = openWatch(url, response)
      const taker = waiting.shift()
      if (taker === undefined) arrived.push(connection)
      else taker(connection)
    }
  }
  return server
}

function answerList(url: URL, response: ServerResponse, { objects, version }: BadServer): void {
  const from = Number(url.searchParams.get('continue') ?? 0)
  const until = from + Number(url.searchParams.get('limit') ?? objects.length)
  const token = until < objects.length ? { continue: String(until) } : {}
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({ metadata: { resourceVersion: String(version), ...token }, items: objects.slice(from, until) }),
  )
}

function openWatch(url: URL, response: ServerResponse): Connection {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.flushHeaders()
  const raw = (text: string): void => {
    response.write(text)
  }
  const send = (type: string, object: object): void => raw(`${JSON.stringify({ type, object })}\n`)
  return {
    url,
    raw,
    send,
    bookmark: (version) => send('BOOKMARK', { metadata: { resourceVersion: String(version) } }),
    end: () => response.end(),
    cut: () => response.destroy(),
  }
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bad', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'nobody', user: {} }],
    contexts: [{ name: 'bad', context: { cluster: 'bad', user: 'nobody' } }],
    'current-context': 'bad',
  })
}

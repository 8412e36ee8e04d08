// A minimal Kubernetes API server for tests of the engine's writes: it stores objects by path, and supports
// resourceVersions, merge patches and preconditions. A test can change objects just before the server handles a
// request, to create a race.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { applyMergePatch } from '../../../activities/kube/merge-patch.ts'
import { kubeconfigTo } from '../../support/servers/scripted-server.ts'

export interface Request {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

interface Answer {
  readonly status: number
  readonly body: object
}

export class TinyApi {
  readonly objects = new Map<string, KubeObject>()
  readonly requests: string[] = []
  /**
   * Called before each request is handled. Its result replaces the response; on 'silence' the server never responds.
   */
  intercept: (request: Request) => Answer | 'silence' | undefined = () => undefined
  readonly #server: Server
  #version = 100

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<TinyApi> {
    const server = createServer()
    const api = new TinyApi(server)
    server.on('request', (request, response) => void api.#serve(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return api
  }

  get kubeconfig(): string {
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return kubeconfigTo({ server, 'insecure-skip-tls-verify': true })
  }

  /** Stores the object with a new resourceVersion, as a write of another client does. */
  put(path: string, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }
    this.objects.set(path, stored)
    return stored
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { pathname: path, searchParams } = new URL(incoming.url ?? '', 'http://localhost')
    const request: Request = {
      method: incoming.method ?? '',
      path,
      query: Object.fromEntries(searchParams),
      body: (text === '' ? {} : JSON.parse(text)) as Readonly<Record<string, unknown>>,
    }
    this.requests.push(`${request.method} ${path.split('/').slice(-2).join('/')}`)
    const answer = this.intercept(request) ?? this.#answer(request)
    if (answer === 'silence') return
    const { status, body } = answer
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

  #answer({ method, path, body }: Request): Answer {
    if (method === 'POST') return this.#create(path, body as unknown as KubeObject)
    const key = path.replace(/\/status$/, '')
    const found = this.objects.get(key)
    if (found === undefined && method === 'GET' && isCollection(key)) return this.#list(key)
    if (found === undefined) return missing(key)
    if (method === 'GET') return { status: 200, body: found }
    if (method === 'PATCH') return this.#patch(key, found, body)
    return this.#remove(key, found, body)
  }

  /** Ignores selectors. */
  #list(collection: string): Answer {
    const items = [...this.objects].flatMap(([path, object]) => (path.startsWith(`${collection}/`) ? [object] : []))
    const newest = Math.max(0, ...items.map(({ metadata }) => Number(metadata.resourceVersion)))
    return { status: 200, body: { metadata: { resourceVersion: String(newest) }, items } }
  }

  #create(collection: string, object: KubeObject): Answer {
    const path = `${collection}/${object.metadata.name}`
    if (this.objects.has(path)) return refusal(409, 'AlreadyExists')
    // The uid contains the name, or the whole path if an object of another kind has the same name.
    const isTaken = [...this.objects.values()].some(({ metadata }) => metadata.uid === `uid-${object.metadata.name}`)
    const uid = isTaken ? `uid-${path}` : `uid-${object.metadata.name}`
    return { status: 201, body: this.put(path, { ...object, metadata: { ...object.metadata, uid } }) }
  }

  #patch(path: string, found: KubeObject, patch: Readonly<Record<string, unknown>>): Answer {
    const { resourceVersion } = (patch['metadata'] ?? {}) as { resourceVersion?: string }
    if (resourceVersion !== undefined && resourceVersion !== found.metadata.resourceVersion)
      return refusal(409, 'Conflict')
    return { status: 200, body: this.put(path, applyMergePatch(found, patch) as KubeObject) }
  }

  #remove(
    path: string,
    found: KubeObject,
    options: { preconditions?: { uid?: string; resourceVersion?: string } },
  ): Answer {
    const { uid, resourceVersion } = options.preconditions ?? {}
    const isMet =
      uid === found.metadata.uid &&
      (resourceVersion ?? found.metadata.resourceVersion) === found.metadata.resourceVersion
    if (!isMet) return refusal(409, 'Conflict')
    const deleted = { ...found, metadata: { ...found.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } }
    if ((found.metadata.finalizers ?? []).length > 0) return { status: 200, body: this.put(path, deleted) }
    this.objects.delete(path)
    return { status: 200, body: deleted }
  }
}

/** The 404 response of a server that serves the kind but does not have the object. */
function missing(path: string): Answer {
  const [name = '', kind = ''] = path.split('/').reverse()
  const { status, body } = refusal(404, 'NotFound')
  return { status, body: { ...body, details: { name, kind } } }
}

export function refusal(code: number, reason: string): Answer {
  return { status: code, body: { kind: 'Status', status: 'Failure', code, reason, message: reason } }
}

/** Whether the path is a collection in a namespace: `/namespaces/<name>/<plural>`. */
function isCollection(path: string): boolean {
  return /\/namespaces\/[^/]+\/[^/]+$/.test(path)
}

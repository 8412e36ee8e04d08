// A server with scripted responses, and a Target that leads to it. The engine's own cluster has only this Target.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import {
  createTargetAccess,
  KUBERNETES_TARGET_TYPE,
} from '../../../../../activities/landscaper/deploy/target/open-target.ts'
import type { TargetAccess, TargetCluster } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import type { KubeClient } from '../../../../../activities/kube/client.ts'
import { dataOf } from '../../tenant-data.ts'

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

export class HostileServer {
  readonly #server = createServer((request, response) => this.#serve(request, response))
  readonly requests: string[] = []
  /**
   * Returns the response to a request such as `GET /path`, without the query. If undefined, the server never responds.
   */
  answer: (request: string) => Answer | undefined = () => ({ body: {} })
  nowMs = 0
  #access: TargetAccess | undefined
  #port = 0

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
    const cluster = { server: `http://127.0.0.1:${this.#port}` }
    const kubeconfig = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    const metadata = { name: 'hostile', namespace: 'n', uid: 'u', resourceVersion: '1' }
    const target = { metadata, spec: { type: KUBERNETES_TARGET_TYPE, config: { kubeconfig } } }
    const kube: Pick<KubeClient, 'request'> = { request: <T>() => Promise.resolve(target as T) }
    this.#access = createTargetAccess({
      kube: kube as KubeClient,
      data: dataOf,
      now: () => new Date(this.nowMs),
      allow: ['127.0.0.1'],
    })
  }

  /** Answers discovery of `v1` with ConfigMaps, and all other requests with `answer`. */
  serve(answer: (request: string) => Answer | undefined): void {
    const resources = [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }]
    this.answer = (request) =>
      request === 'GET /api/v1' ? { body: { kind: 'APIResourceList', resources } } : answer(request)
  }

  async open(): Promise<TargetCluster> {
    if (this.#access === undefined) throw new Error('not started')
    return await this.#access.open('n', 'hostile')
  }

  /** Accepts connections again after goDown. */
  async comeBack(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve))
  }

  /** Closes all connections and refuses new ones. */
  async goDown(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async stop(): Promise<void> {
    await this.#access?.close()
    await this.goDown()
  }

  #serve({ method = '', url = '' }: IncomingMessage, response: ServerResponse): void {
    const request = `${method} ${url.split('?')[0] ?? ''}`
    this.requests.push(request)
    const answer = this.answer(request)
    if (answer === undefined) return
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  }
}

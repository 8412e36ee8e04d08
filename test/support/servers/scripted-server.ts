// An HTTP server whose answers a test scripts, and kubeconfigs that lead to such servers.

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export class ScriptedServer {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(answer: RequestListener): Promise<ScriptedServer> {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new ScriptedServer(server)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get kubeconfig(): string {
    return kubeconfigTo({ server: this.url, 'insecure-skip-tls-verify': true })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** A kubeconfig with one cluster, and a user without credentials. */
export function kubeconfigTo(cluster: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    users: [{ name: 'u', user: {} }],
    clusters: [{ name: 'c', cluster }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })
}

// A proxy in front of kube-apiserver that sees every request of one worker, and lets a test act before or after a chosen write:
// so a process can be killed at each of its writes without a hook in production code.
//
//   Y1. `before`: the request has come and is never forwarded. `after`: the answer has come and is never returned.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, request } from 'undici'

export interface SeenWrite {
  readonly method: string
  readonly path: string
  readonly status: number
}

/** What to do at the write of this number (from 1); the promise is awaited, then the connection is cut. */
export interface Trap {
  readonly write: number
  readonly when: 'before' | 'after'
  readonly act: () => Promise<void>
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export class ApiProxy {
  readonly writes: SeenWrite[] = []
  readonly kubeconfigPath: string
  readonly #server: Server
  readonly #agent: Agent
  readonly #target: string
  #count = 0
  #trap: Trap | undefined

  private constructor(server: Server, target: string, agent: Agent) {
    this.#server = server
    this.#target = target
    this.#agent = agent
    this.kubeconfigPath = join(mkdtempSync(join(tmpdir(), 'pawl-proxy-')), 'kubeconfig')
  }

  static async start(kubeconfigPath: string): Promise<ApiProxy> {
    const config = new KubeConfig()
    config.loadFromString(readFileSync(kubeconfigPath, 'utf8'))
    const https: { ca?: Buffer | string; cert?: Buffer | string; key?: Buffer | string } = {}
    await config.applyToHTTPSOptions(https)
    const { ca, cert, key } = https
    const agent = new Agent({ connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } })
    const server = createServer()
    const proxy = new ApiProxy(server, config.getCurrentCluster()?.server ?? '', agent)
    server.on('request', (req, res) => void proxy.#serve(req, res))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    // The proxy has the credentials; its client needs none.
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'proxy', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'proxy', user: {} }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
      'current-context': 'proxy',
    }
    writeFileSync(proxy.kubeconfigPath, JSON.stringify(kubeconfig), { mode: 0o600 })
    return proxy
  }

  /** Counts writes from 1 again, and acts at one of them. */
  arm(trap: Trap | undefined): void {
    this.#trap = trap
    this.#count = 0
    this.writes.length = 0
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.#agent.destroy()
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const method = req.method ?? 'GET'
      const trap = this.#trapFor(method)
      if (trap?.when === 'before') {
        await trap.act()
        req.socket.destroy()
        return
      }
      const answer = await this.#forward(req, method)
      if (WRITES.has(method)) this.writes.push({ method, path: req.url ?? '', status: answer.statusCode })
      const body = await answer.body.bytes()
      if (trap?.when === 'after') {
        await trap.act()
        req.socket.destroy()
        return
      }
      res.writeHead(answer.statusCode, { 'content-type': 'application/json' })
      res.end(body)
    } catch {
      // The client has gone, or the server has: either way there is nobody to answer.
      req.socket.destroy()
    }
  }

  #trapFor(method: string): Trap | undefined {
    if (!WRITES.has(method)) return undefined
    this.#count++
    if (this.#trap?.write !== this.#count) return undefined
    const trap = this.#trap
    this.#trap = undefined
    return trap
  }

  async #forward(req: IncomingMessage, method: string) {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const contentType = req.headers['content-type']
    return await request(`${this.#target}${req.url ?? ''}`, {
      method: method as 'GET',
      headers: {
        accept: 'application/json',
        'user-agent': req.headers['user-agent'] ?? '',
        ...(contentType !== undefined && { 'content-type': contentType }),
      },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      dispatcher: this.#agent,
    })
  }
}

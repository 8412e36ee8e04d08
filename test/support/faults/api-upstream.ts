// The API server behind a proxy.

import type { IncomingMessage } from 'node:http'
import { readFileSync } from 'node:fs'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, request } from 'undici'

/** The API server behind a proxy, with its credentials; a request that comes with a token, as one for a Target does, keeps that. */
export class Upstream {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #agent: Agent

  private constructor(url: string, headers: Readonly<Record<string, string>>, agent: Agent) {
    this.#url = url
    this.#headers = headers
    this.#agent = agent
  }

  static async of(kubeconfigPath: string): Promise<Upstream> {
    const config = new KubeConfig()
    config.loadFromString(readFileSync(kubeconfigPath, 'utf8'))
    const options: { ca?: Buffer | string; headers?: Record<string, string> } = {}
    await config.applyToHTTPSOptions(options)
    const agent = new Agent({ connect: options.ca === undefined ? {} : { ca: options.ca }, bodyTimeout: 0 })
    return new Upstream(config.getCurrentCluster()?.server ?? '', options.headers ?? {}, agent)
  }

  async send(req: IncomingMessage, body: Buffer | undefined) {
    const { authorization, 'content-type': contentType } = req.headers
    return await request(`${this.#url}${req.url ?? ''}`, {
      method: (req.method ?? 'GET') as 'GET',
      headers: {
        ...(authorization === undefined ? this.#headers : { authorization }),
        accept: 'application/json',
        'user-agent': req.headers['user-agent'] ?? '',
        ...(contentType !== undefined && { 'content-type': contentType }),
      },
      ...(body !== undefined && body.length > 0 && { body }),
      dispatcher: this.#agent,
    })
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

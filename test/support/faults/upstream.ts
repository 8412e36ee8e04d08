// The server behind a proxy of fault tests: kube-apiserver with its credentials, or a gRPC server.

import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, type Dispatcher, H2CClient, request } from 'undici'

/** Long polls and watches have no time limit. */
const ENDLESS = { bodyTimeout: 0, headersTimeout: 0 }

export class Upstream {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #dispatcher: Dispatcher

  private constructor(url: string, headers: Readonly<Record<string, string>>, dispatcher: Dispatcher) {
    this.#url = url
    this.#headers = headers
    this.#dispatcher = dispatcher
  }

  static async ofCluster(kubeconfigPath: string): Promise<Upstream> {
    const config = new KubeConfig()
    config.loadFromString(readFileSync(kubeconfigPath, 'utf8'))
    const options: { ca?: Buffer | string; headers?: Record<string, string> } = {}
    await config.applyToHTTPSOptions(options)
    const agent = new Agent({ connect: options.ca === undefined ? {} : { ca: options.ca }, ...ENDLESS })
    return new Upstream(config.getCurrentCluster()?.server ?? '', options.headers ?? {}, agent)
  }

  /** @param address `host:port` of a server without TLS. */
  static ofGrpc(address: string): Upstream {
    const url = `http://${address}`
    return new Upstream(url, {}, new H2CClient(url, ENDLESS))
  }

  /** Sends a request with the credentials. A request with a token, like the requests for a Target, keeps its token. */
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
      dispatcher: this.#dispatcher,
    })
  }

  /** Forwards a unary gRPC call, with the trailers of its answer. */
  async forwardCall(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gone = new AbortController()
    res.on('close', () => gone.abort())
    const sent = Object.entries(req.headers).filter(([name]) => !name.startsWith(':'))
    const { statusCode, headers, body, trailers } = await request(`${this.#url}${req.url ?? ''}`, {
      method: 'POST',
      headers: Object.fromEntries(sent),
      body: await buffer(req),
      signal: gone.signal,
      dispatcher: this.#dispatcher,
    })
    res.writeHead(statusCode, headers)
    await pipeline(body, res, { end: false })
    res.addTrailers(trailers)
    res.end()
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }
}

// A proxy between one process and kube-apiserver. A test acts before or after a chosen write, so it can kill the process at each of its writes without a
// hook in production code. The proxy can also refuse requests, lose answers, cut watches, and falsify reads (read-faults.ts).
//
//   Y1. `before`: the proxy has the request and has not forwarded it. `after`: the proxy has the answer and has not returned it.
//   Y2. The proxy records each forwarded write with its answer, also when its client is dead.
//   Y3. Kubernetes Events about the duration of a job depend on the clock only. The proxy forwards them, and does not count or record them.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { KubeObject } from '../../../activities/kube/client.ts'
import {
  EXPIRED,
  type CannedAnswer,
  type ReadFaults,
  type Refusal,
  seenRead,
  statusOf,
  watchLines,
} from './read-faults.ts'
import { KubeConfig } from '@kubernetes/client-node'
import { Agent, request } from 'undici'

/** A write that reached the server. */
export interface RecordedWrite {
  /** Verb, resource and subresource, e.g. `PATCH executions/status`. */
  readonly label: string
  readonly path: string
  readonly status: number
  /** The body of the request. */
  readonly body: Readonly<Record<string, unknown>>
  /** The body of the answer: the object, or a Status. */
  readonly answer: KubeObject
}

/** The nth write (from 1) with this label since `arm`. */
export interface WritePoint {
  readonly label: string
  readonly nth: number
}

export interface Trap {
  readonly at: WritePoint
  readonly when: 'before' | 'after'
  /** Awaited. Then the proxy cuts the connection, or continues with the request. */
  readonly act: () => Promise<'cut' | 'go on'>
}

/** The fault of a write: a refusal by the proxy, a connection that is lost before or after the server has executed it, or an answer that waits for `afterwards`. */
export type WriteFault =
  Refusal | 'lost before' | 'lost after' | { readonly afterwards: () => Promise<'cut' | 'go on'> }

/** Called for each write, the nth (from 1) of all since `arm`, with its body. The write waits for the result. */
export type OnWrite = (
  label: string,
  nth: number,
  path: string,
  sent: string,
) => WriteFault | undefined | Promise<WriteFault | undefined>

/** Source: worker/reconciler/job-events.ts and waiting-jobs.ts. */
const BY_THE_CLOCK = /"reason":"(?:JobStarted|JobSucceeded|JobStalled|WaitingForTurn)"/
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export class ApiProxy {
  readonly writes: RecordedWrite[] = []
  readonly kubeconfigPath: string
  readonly #server: Server
  readonly #upstream: Upstream
  readonly #watches = new Set<ServerResponse>()
  /** The faults of reads, also of open watches. */
  reads: ReadFaults = {}
  #counts = new Map<string, number>()
  #total = 0
  #disturb: OnWrite = () => undefined
  #trap: Trap | undefined

  private constructor(server: Server, upstream: Upstream) {
    this.#server = server
    this.#upstream = upstream
    this.kubeconfigPath = join(mkdtempSync(join(tmpdir(), 'pawl-proxy-')), 'kubeconfig')
  }

  static async start(kubeconfigPath: string): Promise<ApiProxy> {
    const server = createServer()
    const proxy = new ApiProxy(server, await Upstream.of(kubeconfigPath))
    server.on('request', (req, res) => void proxy.#serve(req, res))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    // The proxy has the credentials; its client needs none.
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      // client-node refuses plain HTTP without this flag.
      clusters: [{ name: 'proxy', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'proxy', user: {} }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
      'current-context': 'proxy',
    }
    writeFileSync(proxy.kubeconfigPath, JSON.stringify(kubeconfig), { mode: 0o600 })
    return proxy
  }

  /** Clears the recorded writes, counts from 1 again, and sets the trap for one write and the faults of all writes. */
  arm(trap?: Trap, disturb: OnWrite = () => undefined): void {
    this.#disturb = disturb
    this.#trap = trap
    this.#counts = new Map()
    this.#total = 0
    this.writes.length = 0
  }

  /** True until the write of the trap comes. */
  get isArmed(): boolean {
    return this.#trap !== undefined
  }

  /** Cuts all open watches. @returns their number. */
  cutWatches(): number {
    const count = this.#watches.size
    for (const watch of this.#watches) watch.destroy()
    return count
  }

  /** Ends all open watches with 410 Expired, as after a compaction of etcd. @returns their number. */
  expireWatches(): number {
    const count = this.#watches.size
    for (const watch of this.#watches) watch.end(`${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`)
    this.#watches.clear()
    return count
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.#upstream.close()
    rmSync(dirname(this.kubeconfigPath), { recursive: true, force: true })
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      if (WRITES.has(req.method ?? '')) await this.#serveWrite(req, res)
      else await this.#serveRead(req, res)
    } catch {
      // The client or the server has gone, or the test loses the connection.
      req.socket.destroy()
    }
  }

  async #serveRead(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const read = seenRead(req.url ?? '')
    const instead = await this.reads.instead?.(read)
    if (instead !== undefined) {
      answer(res, instead)
      return
    }
    const { statusCode, body } = await this.#upstream.send(req, undefined)
    res.writeHead(statusCode, { 'content-type': 'application/json' })
    res.flushHeaders()
    res.on('close', () => {
      this.#watches.delete(res)
      body.destroy()
    })
    body.on('error', () => res.destroy())
    if (!read.isWatch || statusCode !== 200) {
      body.pipe(res)
      return
    }
    this.#watches.add(res)
    for await (const line of watchLines(body)) {
      for (const sent of (await this.reads.lines?.(read, line)) ?? [line])
        if (!res.writableEnded) res.write(`${sent}\n`)
    }
    res.end()
  }

  async #serveWrite(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const sent = await bodyOf(req)
    const label = labelOf(req.method ?? '', req.url ?? '')
    // Y3
    if (label === 'POST events' && BY_THE_CLOCK.test(sent.toString())) await this.#passOn(req, sent, res)
    else await this.#serveCounted(label, req, sent, res)
  }

  async #serveCounted(label: string, req: IncomingMessage, sent: Buffer, res: ServerResponse): Promise<void> {
    const trap = this.#trapFor(label)
    const disturbance = await this.#disturb(label, this.#total, (req.url ?? '').replace(/\?.*$/, ''), sent.toString())
    if ((await isCut(trap, 'before')) || disturbance === 'lost before') throw new Error('lost before the write')
    if (typeof disturbance === 'object' && 'status' in disturbance) {
      answer(res, { ...disturbance, body: statusOf(disturbance) })
      return
    }
    const { statusCode, body } = await this.#upstream.send(req, sent)
    const text = await body.text()
    this.writes.push({
      label,
      path: req.url ?? '',
      status: statusCode,
      body: parse(sent.toString()),
      answer: parse(text) as unknown as KubeObject,
    })
    if ((await isCut(trap, 'after')) || (await isLostAfter(disturbance))) throw new Error('lost after the write')
    res.writeHead(statusCode, { 'content-type': 'application/json' })
    res.end(text)
  }

  async #passOn(req: IncomingMessage, sent: Buffer, res: ServerResponse): Promise<void> {
    const { statusCode, body } = await this.#upstream.send(req, sent)
    res.writeHead(statusCode, { 'content-type': 'application/json' })
    res.end(await body.text())
  }

  #trapFor(label: string): Trap | undefined {
    const nth = (this.#counts.get(label) ?? 0) + 1
    this.#counts.set(label, nth)
    this.#total++
    const trap = this.#trap
    if (trap?.at.label !== label || trap.at.nth !== nth) return undefined
    this.#trap = undefined
    return trap
  }
}

function labelOf(method: string, url: string): string {
  const [, resource = '', subresource] = /\/namespaces\/[^/]+\/([^/?]+)(?:\/[^/?]+)?(?:\/([^/?]+))?/.exec(url) ?? []
  return `${method} ${resource}${subresource === undefined ? '' : `/${subresource}`}`
}

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function isCut(trap: Trap | undefined, when: Trap['when']): Promise<boolean> {
  return trap?.when === when && (await trap.act()) === 'cut'
}

async function isLostAfter(disturbance: WriteFault | undefined): Promise<boolean> {
  const isHeld = typeof disturbance === 'object' && 'afterwards' in disturbance
  return isHeld ? (await disturbance.afterwards()) === 'cut' : disturbance === 'lost after'
}

function answer(res: ServerResponse, { status, retryAfterSeconds, body }: CannedAnswer): void {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}

function parse(text: string): Readonly<Record<string, unknown>> {
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

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

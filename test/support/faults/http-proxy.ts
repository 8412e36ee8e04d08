// The programmable proxy of fault tests. It stands between one process and kube-apiserver, or between Temporal's clients and Temporal (`toGrpc`). A test
// acts before or after a chosen write, so it can kill the process at each of its writes without a hook in production code. The proxy can also refuse
// requests, lose requests and answers, cut watches, and change the lines of watches. stale-reads.ts has answers from an older state of the cluster.
//
//   Y1. `before`: the proxy has the request and has not forwarded it. `after`: the proxy has the answer and has not returned it.
//   Y2. The proxy records each forwarded write with its answer, also when its client is dead.
//   Y3. Kubernetes Events about the duration of a job depend on the clock only. The proxy forwards them, and does not count or record them.

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { KubeObject } from '../../../activities/kube/client.ts'
import {
  type Answer,
  answerWith,
  bodyOf,
  EXPIRED,
  type ReadRequest,
  type Refusal,
  requestOf,
  watchLines,
} from './http-messages.ts'
import { Upstream } from './upstream.ts'

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

export interface ReadFaults {
  /** Called for each read and watch. Undefined: the proxy forwards the request. */
  readonly instead?: (read: ReadRequest) => Answer | undefined | Promise<Answer | undefined>
  /** Called for each line of a watch. The client gets the returned lines. A promise delays this watch only. */
  readonly lines?: (read: ReadRequest, line: string) => readonly string[] | Promise<readonly string[]>
}

/** Called for each gRPC call with its headers. Undefined: the proxy forwards the call. */
export type OnCall = (path: string, headers: IncomingMessage['headers']) => Answer | undefined

/** Source: worker/reconciler/job-events.ts and waiting-jobs.ts. */
const BY_THE_CLOCK = /"reason":"(?:JobStarted|JobSucceeded|JobStalled|WaitingForTurn)"/
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export class HttpProxy {
  readonly writes: RecordedWrite[] = []
  /** Leads to the proxy, which has the credentials. */
  readonly kubeconfigPath = join(mkdtempSync(join(tmpdir(), 'pawl-proxy-')), 'kubeconfig')
  /** The faults of reads, also of open watches. */
  reads: ReadFaults = {}
  readonly #server: Server | Http2SecureServer
  readonly #upstream: Upstream
  readonly #watches = new Set<ServerResponse>()
  #counts = new Map<string, number>()
  #total = 0
  #disturb: OnWrite = () => undefined
  #trap: Trap | undefined

  private constructor(server: Server | Http2SecureServer, upstream: Upstream) {
    this.#server = server
    this.#upstream = upstream
  }

  static async start(kubeconfigPath: string): Promise<HttpProxy> {
    const server = createServer()
    const proxy = new HttpProxy(server, await Upstream.ofCluster(kubeconfigPath))
    server.on('request', (req, res) => void proxy.#serve(req, res))
    await proxy.#listen()
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      // client-node refuses plain HTTP without this flag.
      clusters: [{ name: 'proxy', cluster: { server: `http://${proxy.address}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'proxy', user: {} }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
      'current-context': 'proxy',
    }
    writeFileSync(proxy.kubeconfigPath, JSON.stringify(kubeconfig), { mode: 0o600 })
    return proxy
  }

  /** Adds TLS to a gRPC server, like a hosted Temporal service. @param address `host:port` of the server. */
  static async toGrpc(address: string, tls: SecureServerOptions, onCall: OnCall): Promise<HttpProxy> {
    const server = createSecureServer(tls)
    const proxy = new HttpProxy(server, Upstream.ofGrpc(address))
    server.on('session', (session) => session.on('error', () => undefined))
    server.on('request', (req, res) => {
      // The HTTP/2 classes have the methods that the proxy uses.
      void proxy.#serveCall(onCall, req as unknown as IncomingMessage, res as unknown as ServerResponse)
    })
    await proxy.#listen()
    return proxy
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
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
    for (const watch of this.#watches) watch.end(`${JSON.stringify({ type: 'ERROR', object: bodyOf(EXPIRED) })}\n`)
    this.#watches.clear()
    return count
  }

  /** Does not wait for open gRPC connections. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    if ('closeAllConnections' in this.#server) {
      this.#server.closeAllConnections()
      await closed
    }
    await this.#upstream.close()
    rmSync(dirname(this.kubeconfigPath), { recursive: true, force: true })
  }

  async #listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
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

  async #serveCall(onCall: OnCall, req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const instead = onCall(req.url ?? '', req.headers)
      if (instead === undefined) await this.#upstream.forwardCall(req, res)
      else answerWith(res, instead)
    } catch {
      // The client or the server has gone. Each call reports its own error.
      res.destroy()
    }
  }

  async #serveRead(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const read = requestOf(req.url ?? '')
    const instead = await this.reads.instead?.(read)
    if (instead !== undefined) {
      answerWith(res, instead)
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
    const sent = await buffer(req)
    const { label, path } = targetOf(req)
    // Y3
    const isCounted = !(label === 'POST events' && BY_THE_CLOCK.test(sent.toString()))
    const trap = isCounted ? this.#trapFor(label) : undefined
    const fault = isCounted ? await this.#disturb(label, this.#total, path, sent.toString()) : undefined
    if ((await isCut(trap, 'before')) || fault === 'lost before') throw new Error('lost before the write')
    if (isRefusal(fault)) {
      answerWith(res, fault)
      return
    }
    const { statusCode, body } = await this.#upstream.send(req, sent)
    const text = await body.text()
    if (isCounted) this.#record(label, req, sent, { status: statusCode, text })
    if ((await isCut(trap, 'after')) || (await isLostAfter(fault))) throw new Error('lost after the write')
    res.writeHead(statusCode, { 'content-type': 'application/json' })
    res.end(text)
  }

  #record(label: string, { url = '' }: IncomingMessage, sent: Buffer, got: { status: number; text: string }): void {
    const answer = parse(got.text) as unknown as KubeObject
    this.writes.push({ label, path: url, status: got.status, body: parse(sent.toString()), answer })
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

function targetOf({ method = '', url = '' }: IncomingMessage): { readonly label: string; readonly path: string } {
  const [, resource = '', subresource] = /\/namespaces\/[^/]+\/([^/?]+)(?:\/[^/?]+)?(?:\/([^/?]+))?/.exec(url) ?? []
  const label = `${method} ${resource}${subresource === undefined ? '' : `/${subresource}`}`
  return { label, path: url.replace(/\?.*$/, '') }
}

function isRefusal(fault: WriteFault | undefined): fault is Refusal {
  return typeof fault === 'object' && 'status' in fault
}

async function isCut(trap: Trap | undefined, when: Trap['when']): Promise<boolean> {
  return trap?.when === when && (await trap.act()) === 'cut'
}

async function isLostAfter(fault: WriteFault | undefined): Promise<boolean> {
  const isHeld = typeof fault === 'object' && 'afterwards' in fault
  return isHeld ? (await fault.afterwards()) === 'cut' : fault === 'lost after'
}

function parse(text: string): Readonly<Record<string, unknown>> {
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

// HTTP to one Kubernetes API server: the few verbs that the engine uses, over one shared connection pool.
// Not a typed client: bodies are plain JSON, kinds are addressed by apiVersion and plural.
//
// client-node reads the kubeconfig and applies its authentication, but makes a new TLS connection for every call
// (facts.md: 3.4 times slower) and would wait for one that fell silent. So one pool of our own serves every request.

import { readFileSync } from 'node:fs'
import { type DispatcherOptions, HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node'
import { buildConnector, type Dispatcher, request as undiciRequest } from 'undici'
import { KubeError } from './errors.ts'
import { createLiveAgent, PROBE_AFTER_MS, type SilenceLimits } from './live-agent.ts'

/** Any Kubernetes object as it travels. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly deletionTimestamp?: string
  readonly creationTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
  /** `time` in whole seconds of the server's clock. */
  readonly managedFields?: readonly {
    readonly manager?: string
    readonly time?: string
    readonly fieldsV1?: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>
  }[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly KubeObject[]
}

/** Where objects of a kind live: `apis/<group>/<version>` or `api/v1`, and the plural of the path. */
export interface Resource {
  readonly apiVersion: string
  readonly plural: string
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
  /** Instead of the client's. */
  readonly maxBodyBytes?: number
  /** A list of which less is asked for when this does not come in time: a silence says little of the server yet. */
  readonly mayBeSmaller?: boolean
  /** Form of the answer; JSON as it is without it. */
  readonly accept?: string
  /** A header in which the token of the kubeconfig goes along as well, for who stands behind the API server: that takes the usual one away. */
  readonly tokenHeader?: string
}

export interface StreamedResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: AsyncIterable<Buffer>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** How to reach an API server, without credentials. */
export interface KubeConnection {
  readonly server: string
  /** PEM in base64; absent: the system's authorities. */
  readonly caData?: string
  readonly tlsServerName?: string
  /** The server's certificate is not checked. */
  readonly isInsecure: boolean
}

export interface KubeClient {
  readonly connection: KubeConnection
  /** One request and its JSON answer. @throws KubeError for every status but 2xx, and when no answer comes. */
  request<T>(method: Method, path: string, options?: RequestOptions): Promise<T>
  /** One GET whose body is read as it comes; the caller looks at the status code itself. */
  stream(path: string, signal: AbortSignal): Promise<StreamedResponse>
  close(): Promise<void>
}

export interface KubeClientOptions {
  /** Path of a kubeconfig; absent: the service account of the pod. */
  readonly kubeconfigPath?: string | undefined
  /** Its text, when it does not come from a file. */
  readonly kubeconfig?: string
  /** Name in User-Agent and in audit logs. */
  readonly userAgent?: string
  /** A longer answer is a failure; absent: no limit. For servers that are not trusted. */
  readonly maxBodyBytes?: number
  /** In place of connections as the kubeconfig says; closed with the client. */
  readonly dispatcher?: Dispatcher
  readonly silence?: SilenceLimits
}

// Tokens from files and exec plugins are asked for again after this time; in-cluster tokens rotate hourly.
const AUTHENTICATION_TTL_MS = 60_000
// Less than short calls have (kit/run/loop/temporal.ts), so that they can say what did not answer.
const CLIENT_TIMEOUT_MS = 28_000

const SIZES = new WeakMap<object, number>()

/** Length of the text that an answer was parsed from; of anything else that of its JSON. */
export function answerBytes(answer: object): number {
  return SIZES.get(answer) ?? JSON.stringify(answer).length
}

export function createKubeClient(options: KubeClientOptions): KubeClient {
  return new HttpKubeClient(loadConfig(options), options)
}

/** Says how to connect instead of doing it, unless over a proxy that the kubeconfig names. */
class TellingConfig extends KubeConfig {
  connect: buildConnector.BuildOptions = {}

  override createDispatcherOptions(...of: Parameters<KubeConfig['createDispatcherOptions']>): DispatcherOptions {
    const options = super.createDispatcherOptions(...of)
    if (options.type === 'proxy')
      return { ...options, connect: { ...options.connect, keepAliveInitialDelay: PROBE_AFTER_MS } }
    if (options.type !== 'agent') return options
    // What is not given is left out of them, which their type does not say.
    this.connect = options.connect as buildConnector.BuildOptions
    return { type: 'none' }
  }
}

function loadConfig({ kubeconfigPath, kubeconfig }: KubeClientOptions): TellingConfig {
  const config = new TellingConfig()
  if (kubeconfig !== undefined) config.loadFromString(kubeconfig)
  else if (kubeconfigPath !== undefined) config.loadFromString(readFileSync(kubeconfigPath, 'utf8'))
  else config.loadFromCluster()
  return config
}

class HttpKubeClient implements KubeClient {
  readonly #config: TellingConfig
  readonly #server: string
  readonly #userAgent: string
  readonly #maxBodyBytes: number
  readonly #silence: SilenceLimits | undefined
  #dispatcher: Dispatcher | undefined
  #headers: Record<string, string> = {}
  #authenticatedAt = -Infinity

  constructor(config: TellingConfig, options: KubeClientOptions) {
    const { userAgent = 'pawl', maxBodyBytes = Infinity, dispatcher, silence } = options
    this.#config = config
    this.#silence = silence
    this.#server = currentCluster(config).server.replace(/\/$/, '')
    this.#userAgent = userAgent
    this.#maxBodyBytes = maxBodyBytes
    this.#dispatcher = dispatcher
  }

  // Read each time: the file of the pod's authority rotates.
  get connection(): KubeConnection {
    const { caFile, caData, tlsServerName, skipTLSVerify } = currentCluster(this.#config)
    const authority = caFile === undefined ? caData : readFileSync(caFile).toString('base64')
    return {
      server: this.#server,
      isInsecure: skipTLSVerify,
      ...(authority !== undefined && { caData: authority }),
      ...(tlsServerName !== undefined && { tlsServerName }),
    }
  }

  async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.#send(method, path, options)
    const text = await this.#text(response.body, options.maxBodyBytes ?? this.#maxBodyBytes).catch((cause: unknown) => {
      if (options.signal?.aborted === true) throw cause
      throw KubeError.unreachable(method, path, cause)
    })
    if (response.statusCode < 200 || response.statusCode >= 300)
      throw KubeError.fromResponse(`${method} ${path}`, response, text, nameIn(options.body))
    if (text === '') return {} as T
    try {
      const answer: unknown = JSON.parse(text)
      if (typeof answer === 'object' && answer !== null) SIZES.set(answer, text.length)
      return answer as T
    } catch {
      // The parser's message quotes the body, which may be a Secret.
      throw KubeError.unreachable(method, path, 'the body is not JSON')
    }
  }

  async stream(path: string, signal: AbortSignal): Promise<StreamedResponse> {
    const response = await this.#send('GET', path, { signal }, true)
    return { statusCode: response.statusCode, headers: response.headers, body: response.body as AsyncIterable<Buffer> }
  }

  async close(): Promise<void> {
    await this.#dispatcher?.destroy()
  }

  async #text(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string> {
    if (maxBytes === Infinity) return await body.text()
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      // Leaving the loop destroys the body, and with it the connection.
      if (size > maxBytes) throw tooLong(maxBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  async #send(method: Method, path: string, options: RequestOptions, streaming = false) {
    await this.#authenticate()
    const query = options.query === undefined ? '' : `?${new URLSearchParams(options.query).toString()}`
    try {
      return await undiciRequest(`${this.#server}${path}${query}`, {
        method,
        headers: {
          ...this.#headers,
          'user-agent': this.#userAgent,
          ...formsOf(options),
          ...tokenAgain(this.#headers, options),
        },
        ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
        ...(this.#dispatcher !== undefined && { dispatcher: this.#dispatcher }),
        ...(options.signal !== undefined && { signal: options.signal }),
        headersTimeout: CLIENT_TIMEOUT_MS,
        bodyTimeout: streaming ? 0 : CLIENT_TIMEOUT_MS,
      })
    } catch (cause) {
      if (options.signal?.aborted === true) throw cause
      throw KubeError.unreachable(method, path, cause)
    }
  }

  #connect(): Dispatcher {
    const options = { ...this.#config.connect, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS }
    return createLiveAgent(buildConnector(options), this.#silence)
  }

  async #authenticate(): Promise<void> {
    if (performance.now() - this.#authenticatedAt < AUTHENTICATION_TTL_MS) return
    const context = new RequestContext(this.#server, HttpMethod.GET)
    await this.#config.applySecurityAuthentication(context)
    this.#headers = context.getHeaders()
    this.#dispatcher ??= context.getDispatcher() ?? this.#connect()
    this.#authenticatedAt = performance.now()
  }
}

function formsOf({ accept = JSON_FORM, body, contentType = JSON_FORM }: RequestOptions): Record<string, string> {
  return { accept, ...(body !== undefined && { 'content-type': contentType }) }
}

function tokenAgain(headers: Readonly<Record<string, string>>, { tokenHeader }: RequestOptions) {
  const usual = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1]
  const token = /^Bearer (\S+)$/.exec(usual ?? '')?.[1]
  return tokenHeader === undefined || token === undefined ? {} : { [tokenHeader]: token }
}

const JSON_FORM = 'application/json'

/** Of an object that is sent; the path of one that is made has no name. */
function nameIn(body: unknown): string {
  const name = (body as { readonly metadata?: { readonly name?: unknown } } | undefined)?.metadata?.name
  return typeof name === 'string' ? name : ''
}

function tooLong(bytes: number): Error {
  return Object.assign(new Error(`the body is longer than ${bytes} bytes`), { code: 'BODY_TOO_LONG' })
}

function currentCluster(config: KubeConfig) {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error(`kubeconfig: context "${config.currentContext}" names no cluster`)
  return cluster
}

// HTTP to one Kubernetes API server: the few verbs that the engine uses, over one shared connection pool.
// Not a typed client: bodies are plain JSON, kinds are addressed by apiVersion and plural.
//
// It knows no kubeconfig: where the server is, and as whom it is asked, is its access (client.ts, plain-access.ts).

import { readJson, writeJson } from '../../workflows/kit/index.ts'
import { buildConnector, type Dispatcher, request as undiciRequest } from 'undici'
import { KubeError } from './kube-error.ts'
import { createLiveAgent, PROBE_AFTER_MS, type SilenceLimits } from './live-agent.ts'

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
  /** Instead of the client's. */
  readonly maxBodyBytes?: number
  /** A list of which less is asked for when this does not come in time: a silence says little of the server yet. */
  readonly isRetriedSmaller?: boolean
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

/** Where an API server is, and as whom it is asked. */
export interface KubeAccess {
  /** Without a slash at its end. */
  readonly server: string
  /** Read each time: the file of the pod's authority rotates. */
  readonly connection: () => KubeConnection
  /** Asked for again now and then: tokens rotate. */
  readonly authenticate: () => Promise<Authentication>
}

export interface Authentication {
  readonly headers: Readonly<Record<string, string>>
  /** How connections are made: authorities, certificate and key. */
  readonly connect: buildConnector.BuildOptions
  /** In place of connections made so, over a proxy. */
  readonly dispatcher?: Dispatcher | undefined
}

export interface HttpClientOptions {
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
  return SIZES.get(answer) ?? writeJson(answer).length
}

export class HttpKubeClient implements KubeClient {
  readonly #access: KubeAccess
  readonly #server: string
  readonly #userAgent: string
  readonly #maxBodyBytes: number
  readonly #silence: SilenceLimits | undefined
  #dispatcher: Dispatcher | undefined
  #headers: Readonly<Record<string, string>> = {}
  #authenticatedAt = -Infinity

  constructor(access: KubeAccess, options: HttpClientOptions) {
    const { userAgent = 'pawl', maxBodyBytes = Infinity, dispatcher, silence } = options
    this.#access = access
    this.#silence = silence
    this.#server = access.server
    this.#userAgent = userAgent
    this.#maxBodyBytes = maxBodyBytes
    this.#dispatcher = dispatcher
  }

  get connection(): KubeConnection {
    return this.#access.connection()
  }

  async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.#send(method, path, options)
    const text = await textOf(response.body, options.maxBodyBytes ?? this.#maxBodyBytes).catch((cause: unknown) => {
      if (options.signal?.aborted === true) throw cause
      throw KubeError.unreachable(method, path, cause)
    })
    if (response.statusCode < 200 || response.statusCode >= 300)
      throw KubeError.fromResponse(`${method} ${path}`, response, text, options.body)
    if (text === '') return {} as T
    try {
      const answer: unknown = readJson(text)
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

  async #send(method: Method, path: string, options: RequestOptions, streaming = false) {
    await this.#authenticate()
    const query = options.query === undefined ? '' : `?${new URLSearchParams(options.query).toString()}`
    try {
      return await undiciRequest(`${this.#server}${path}${query}`, {
        method,
        headers: {
          ...this.#headers,
          'user-agent': this.#userAgent,
          ...contentHeaders(options),
          ...copyToken(this.#headers, options),
        },
        ...(options.body !== undefined && { body: writeJson(options.body) }),
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

  #connect(connect: buildConnector.BuildOptions): Dispatcher {
    const options = { ...connect, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS }
    return createLiveAgent(buildConnector(options), this.#silence)
  }

  async #authenticate(): Promise<void> {
    if (performance.now() - this.#authenticatedAt < AUTHENTICATION_TTL_MS) return
    const { headers, connect, dispatcher } = await this.#access.authenticate()
    this.#headers = headers
    this.#dispatcher ??= dispatcher ?? this.#connect(connect)
    this.#authenticatedAt = performance.now()
  }
}

function contentHeaders({ accept = JSON_FORM, body, contentType = JSON_FORM }: RequestOptions): Record<string, string> {
  return { accept, ...(body !== undefined && { 'content-type': contentType }) }
}

function copyToken(headers: Readonly<Record<string, string>>, { tokenHeader }: RequestOptions) {
  const usual = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1]
  const token = /^Bearer (\S+)$/.exec(usual ?? '')?.[1]
  return tokenHeader === undefined || token === undefined ? {} : { [tokenHeader]: token }
}

const JSON_FORM = 'application/json'

async function textOf(body: Dispatcher.ResponseData['body'], most: number): Promise<string> {
  if (most === Infinity) return await body.text()
  return (await readBody(body, most, () => bodyTooLong(most))).toString('utf8')
}

function bodyTooLong(bytes: number): Error {
  return Object.assign(new Error(`the body is longer than ${bytes} bytes`), { code: 'BODY_TOO_LONG' })
}

// The body of an answer, of whatever server: bounded, for nobody knows what it sends.

/**
 * All of it. A body that is too long is left where that is seen, which destroys it, and with it the connection.
 *
 * @throws what `excess` makes when there are more than `most` bytes; what the body throws.
 */
export async function readBody(body: AsyncIterable<unknown>, most: number, excess: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) throw excess()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

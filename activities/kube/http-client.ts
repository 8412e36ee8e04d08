// HTTP client of one Kubernetes API server over a shared connection pool. It is untyped: bodies are plain JSON, kinds
// are addressed by apiVersion and plural. Its KubeAccess supplies the address and the credentials (client.ts,
// plain-kubeconfig.ts).

import { readJson, writeJson } from '../../workflows/kit/index.ts'
import { buildConnector, type Dispatcher, request as undiciRequest } from 'undici'
import { KubeError } from './kube-error.ts'
import { createLiveAgent, PROBE_AFTER_MS, type SilenceLimits } from './live-agent.ts'

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
  /** Overrides the client's limit. */
  readonly maxBodyBytes?: number
  /** The caller retries a slow list with smaller pages, so a timeout does not mean that the server is down. */
  readonly isRetriedSmaller?: boolean
  /** Media type of the answer; default: JSON. */
  readonly accept?: string
  /** Also sends the token in this header, for servers behind the API server, which removes the usual header. */
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
  /** The server's certificate is not verified. */
  readonly isInsecure: boolean
}

export interface KubeClient {
  readonly connection: KubeConnection
  /**
   * Sends one request and returns its JSON answer. @throws KubeError for a status outside 2xx, and without an answer.
   */
  request<T>(method: Method, path: string, options?: RequestOptions): Promise<T>
  /** Sends a GET with a streamed body; the caller checks the status code. */
  stream(path: string, signal: AbortSignal): Promise<StreamedResponse>
  close(): Promise<void>
}

/** Address of an API server, and the credentials to use. */
export interface KubeAccess {
  /** Without a trailing slash. */
  readonly server: string
  /** Called for each use, because the pod's authority file rotates. */
  readonly connection: () => KubeConnection
  /** Called again after AUTHENTICATION_TTL_MS, because tokens rotate. */
  readonly authenticate: () => Promise<Authentication>
}

export interface Authentication {
  readonly headers: Readonly<Record<string, string>>
  /** TLS options of connections: authorities, certificate and key. */
  readonly connect: buildConnector.BuildOptions
  /** Used instead of `connect`, for a proxy. */
  readonly dispatcher?: Dispatcher | undefined
}

export interface HttpClientOptions {
  /** Name in User-Agent and in audit logs. */
  readonly userAgent?: string
  /** Maximum size of an answer, for untrusted servers; absent: no limit. */
  readonly maxBodyBytes?: number
  /** Used instead of the kubeconfig's connections; closed with the client. */
  readonly dispatcher?: Dispatcher
  readonly silence?: SilenceLimits
  /** Called for each request. */
  readonly onAnswer?: (answer: RequestAnswer) => void
}

export interface RequestAnswer {
  readonly method: Method
  /** Host and port of the server. */
  readonly host: string
  /** HTTP status code; undefined: no answer. */
  readonly status: number | undefined
  /** Until the headers of the answer. */
  readonly seconds: number
}

// Tokens from files and exec plugins are read again after this time; in-cluster tokens rotate hourly.
const AUTHENTICATION_TTL_MS = 60_000
// Less than the time limit of short calls (kit/run/loop/temporal.ts), so that their error names the request.
const CLIENT_TIMEOUT_MS = 28_000

const SIZES = new WeakMap<object, number>()

/** Length of the text that an answer was parsed from; for other objects the length of their JSON. */
export function answerBytes(answer: object): number {
  return SIZES.get(answer) ?? writeJson(answer).length
}

export class HttpKubeClient implements KubeClient {
  readonly #access: KubeAccess
  readonly #server: string
  readonly #userAgent: string
  readonly #maxBodyBytes: number
  readonly #silence: SilenceLimits | undefined
  readonly #onAnswer: (method: Method, since: number, status?: number) => void
  #dispatcher: Dispatcher | undefined
  #headers: Readonly<Record<string, string>> = {}
  #authenticatedAt = -Infinity

  constructor(access: KubeAccess, options: HttpClientOptions) {
    const { userAgent = 'pawl', maxBodyBytes = Infinity, dispatcher, silence, onAnswer } = options
    this.#access = access
    this.#silence = silence
    const host = URL.parse(access.server)?.host ?? ''
    this.#onAnswer = (method, since, status) => {
      onAnswer?.({ method, host, status, seconds: (performance.now() - since) / 1000 })
    }
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
    const since = performance.now()
    try {
      const answer = await undiciRequest(`${this.#server}${path}${query}`, {
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
      this.#onAnswer(method, since, answer.statusCode)
      return answer
    } catch (cause) {
      this.#onAnswer(method, since)
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
  return Object.assign(new Error(`the response is longer than ${bytes} bytes`), { code: 'BODY_TOO_LONG' })
}

/**
 * Reads a whole body up to a limit. Ending the iteration early destroys the body and its connection.
 *
 * @throws the error of `excess` for more than `most` bytes; errors of the body.
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

// A client for a server of a user: limited in time and size, and it knows when it was last used.

import { createKubeClient, type KubeClient, type RequestOptions } from '../../../kube/client.ts'
import { KubeError } from '../../../kube/errors.ts'
import { isSilent } from '../../../kube/pages.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { type AddressCheck, createGuardedAgent, RefusedAddress } from './guarded-agent.ts'
import { type ClusterAccess, formatKubeconfig } from './kubeconfig.ts'
import { withoutSentTexts } from '../../../kube/redact-message.ts'

// Servers store objects of at most 1.5 MB.
const MAX_OBJECT_BYTES = 4 * 1024 * 1024
// Limits for the complete answer, because a server may send it byte by byte. Writes may wait for webhooks.
const READ_TIMEOUT_MS = 10_000
const WRITE_TIMEOUT_MS = 30_000
/** After a failure without an answer the server gets no requests for this time, so that one attempt does not wait for several timeouts. */
const PAUSE_MS = 3000

export interface TargetClientOptions {
  readonly access: ClusterAccess
  readonly now: () => Date
  /** Time limit of a read. Default 10 s. */
  readonly longestReadMs?: number
  /** Called when the server rejects the credentials; creates the error to throw. */
  readonly refused: (error: KubeError) => Error
  /** For a server that a user has named: the check of addresses, and the error for a forbidden one. */
  readonly guard?: { readonly check: AddressCheck; readonly refused: (error: RefusedAddress) => Error }
}

export class TargetClient implements KubeClient {
  readonly #kube: KubeClient
  readonly #options: TargetClientOptions
  #running = 0
  #usedAt: number
  #silence: { readonly error: KubeError; readonly at: number } | undefined

  constructor(options: TargetClientOptions) {
    const { access, guard } = options
    this.#kube = createKubeClient({
      kubeconfig: formatKubeconfig(access),
      userAgent: 'pawl-deploy',
      maxBodyBytes: MAX_OBJECT_BYTES,
      ...(guard !== undefined && { dispatcher: createGuardedAgent(access, guard.check) }),
    })
    this.#options = options
    this.#usedAt = options.now().getTime()
  }

  get connection(): KubeClient['connection'] {
    return this.#kube.connection
  }

  /** Milliseconds since the last request ended, or since a caller got the client; 0 while a request runs. */
  get idleMs(): number {
    return this.#running > 0 ? 0 : this.#options.now().getTime() - this.#usedAt
  }

  /** The recent failure without an answer; no requests are sent meanwhile. */
  get silence(): KubeError | undefined {
    const ageMs = this.#options.now().getTime() - (this.#silence?.at ?? -Infinity)
    return ageMs < PAUSE_MS ? this.#silence?.error : undefined
  }

  /** Called when a caller gets the client. */
  touch(): void {
    this.#usedAt = this.#options.now().getTime()
  }

  request: KubeClient['request'] = async <T>(
    method: Parameters<KubeClient['request']>[0],
    path: string,
    options: RequestOptions = {},
  ): Promise<T> => {
    const { silence } = this
    if (silence !== undefined) throw KubeError.unreachable(method, path, silence.cause)
    const longestMs = method === 'GET' ? (this.#options.longestReadMs ?? READ_TIMEOUT_MS) : WRITE_TIMEOUT_MS
    const limit = AbortSignal.timeout(longestMs)
    const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit])
    this.#running += 1
    try {
      const answer = await this.#kube.request<unknown>(method, path, { ...options, signal })
      if (!isMap(answer)) throw KubeError.unreachable(method, path, 'the answer is not an object')
      return answer as T
    } catch (error) {
      if (options.signal?.aborted === true) throw error
      const failure = limit.aborted ? KubeError.unreachable(method, path, tooLong(longestMs)) : error
      throw this.#failed(failure, options)
    } finally {
      this.#running -= 1
      this.touch()
    }
  }

  #failed(error: unknown, { body, isRetriedSmaller = false }: RequestOptions): unknown {
    if (!(error instanceof KubeError)) return error
    if (error.isDenial) return withoutTexts(error, body)
    if (error.cause instanceof RefusedAddress) return this.#options.guard?.refused(error.cause) ?? error
    if (error.status === 401) return this.#options.refused(error)
    // One slow page does not mean that the server answers no requests.
    if (isUnanswered(error) && !(isRetriedSmaller && isSilent(error)))
      this.#silence = { error, at: this.#options.now().getTime() }
    return error
  }

  stream: KubeClient['stream'] = async (path, signal) => {
    this.touch()
    return await this.#kube.stream(path, signal)
  }

  async close(): Promise<void> {
    await this.#kube.close()
  }
}

function tooLong(limitMs: number): Error {
  return Object.assign(new Error(`incomplete after ${limitMs} ms`), { code: 'ETIMEDOUT' })
}

// Without codes of broken connections, because the next connection may work.
const SILENCE: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
])

function isUnanswered({ cause }: KubeError): boolean {
  return typeof cause === 'object' && cause !== null && 'code' in cause && SILENCE.has(cause.code)
}

// Removes contents of the object from the message of a webhook that denies it: templates may have filled the object with secrets, and a webhook may
// quote any field.

// The beginning of the message: the request and the webhook.
const SENTENCE = /^[^]*? denied (?:the )?request: /
// Limit of the text that regular expressions search.
const MAX_SEARCHED_LENGTH = 2000

/** @param body the request body; its texts are removed (redact-message.ts). */
export function withoutTexts(error: KubeError, body: unknown): KubeError {
  const message = error.message.slice(0, MAX_SEARCHED_LENGTH)
  const [head] = SENTENCE.exec(message) ?? []
  if (head === undefined) return error
  const sentence = message.slice(head.length)
  return error.withMessage(head + withoutSentTexts(sentence, body))
}

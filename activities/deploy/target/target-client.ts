// A client of a server that is not ours: bounded in time and size, and it knows whether it is in use.

import { createKubeClient, type KubeClient, type RequestOptions } from '../../kube/client.ts'
import { KubeError } from '../../kube/errors.ts'
import { isMap } from '../readiness/field-reader.ts'
import { type ClusterAccess, writeKubeconfig } from './kubeconfig.ts'

const MAX_BODY_BYTES = 16 * 1024 * 1024
// The whole answer, not only its beginning: a server may send a byte now and then.
const LONGEST_REQUEST_MS = 60_000

export interface TargetClientOptions {
  readonly access: ClusterAccess
  readonly now: () => Date
  /** Called when the server refuses the credentials; what it returns is thrown. */
  readonly refused: (error: KubeError) => Error
}

export class TargetClient implements KubeClient {
  readonly #kube: KubeClient
  readonly #options: TargetClientOptions
  #running = 0
  #usedAt: number

  constructor(options: TargetClientOptions) {
    const kubeconfig = writeKubeconfig(options.access)
    this.#kube = createKubeClient({ kubeconfig, userAgent: 'pawl-deploy', maxBodyBytes: MAX_BODY_BYTES })
    this.#options = options
    this.#usedAt = options.now().getTime()
  }

  get connection(): KubeClient['connection'] {
    return this.#kube.connection
  }

  /** Milliseconds since the last request ended, or since somebody got the client; 0 while one runs. */
  get idleMs(): number {
    return this.#running > 0 ? 0 : this.#options.now().getTime() - this.#usedAt
  }

  /** Somebody gets the client. */
  touch(): void {
    this.#usedAt = this.#options.now().getTime()
  }

  request: KubeClient['request'] = async <T>(
    method: Parameters<KubeClient['request']>[0],
    path: string,
    options: RequestOptions = {},
  ): Promise<T> => {
    const limit = AbortSignal.timeout(LONGEST_REQUEST_MS)
    const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit])
    this.#running += 1
    try {
      const answer = await this.#kube.request<unknown>(method, path, { ...options, signal })
      if (!isMap(answer)) throw KubeError.unreachable(method, path, 'the answer is no object')
      return answer as T
    } catch (error) {
      if (limit.aborted && options.signal?.aborted !== true) throw KubeError.unreachable(method, path, TOO_LONG)
      if (error instanceof KubeError && error.status === 401) throw this.#options.refused(error)
      throw error
    } finally {
      this.#running -= 1
      this.touch()
    }
  }

  stream: KubeClient['stream'] = async (path, signal) => {
    this.touch()
    return await this.#kube.stream(path, signal)
  }

  async close(): Promise<void> {
    await this.#kube.close()
  }
}

const TOO_LONG = Object.assign(new Error(`not complete after ${LONGEST_REQUEST_MS} ms`), { code: 'ETIMEDOUT' })

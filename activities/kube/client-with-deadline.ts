// The API server for who cannot wait long: inside a workflow task, where a server that is silent would hold everybody's place.

import type { KubeClient, RequestOptions } from './client.ts'
import { KubeError } from './errors.ts'

export interface RequestDeadline {
  /** For one request. */
  readonly requestMs: number
  /** For all of them together. */
  readonly totalMs: number
}

/** The same client, with so much time for its requests from now on. What is not answered in it is `Unreachable`; it may have been done all the same. */
export function withDeadline(kube: KubeClient, patience: RequestDeadline): KubeClient {
  return {
    // Reads files where it is asked for.
    get connection() {
      return kube.connection
    },
    ...requestsWithDeadline(kube, patience),
    stream: async (path, signal) => await kube.stream(path, signal),
    close: async () => await kube.close(),
  }
}

/** The requests alone. */
export function requestsWithDeadline(
  kube: Pick<KubeClient, 'request'>,
  { requestMs, totalMs }: RequestDeadline,
): Pick<KubeClient, 'request'> {
  const endsAt = performance.now() + totalMs
  return {
    async request<T>(...[method, path, options = {}]: Parameters<KubeClient['request']>): Promise<T> {
      const leftMs = Math.max(0, Math.min(requestMs, endsAt - performance.now()))
      const late = KubeError.unreachable(method, path, 'none in time')
      if (leftMs === 0) throw late
      return await abortAfter(
        leftMs,
        late,
        async (signal) => await kube.request<T>(method, path, withSignal(options, signal)),
      )
    },
  }
}

async function abortAfter<T>(ms: number, late: KubeError, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(late), ms)
  try {
    return await ask(end.signal)
  } catch (error) {
    // Whatever the aborted request was made of.
    throw end.signal.aborted ? late : error
  } finally {
    clearTimeout(timer)
  }
}

function withSignal(options: RequestOptions, signal: AbortSignal): RequestOptions {
  return { ...options, signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]) }
}

// A client with a deadline, for calls inside a workflow task, where a silent server would occupy a workflow task slot.

import type { KubeClient, RequestOptions } from './client.ts'
import { KubeError } from './errors.ts'

export interface RequestDeadline {
  /** Milliseconds for one request. */
  readonly requestMs: number
  /** Milliseconds for all requests together. */
  readonly totalMs: number
}

/**
 * Returns the client with a deadline that starts now. A request without an answer in time fails with `Unreachable`; the
 * server may have processed it.
 */
export function withDeadline(kube: KubeClient, patience: RequestDeadline): KubeClient {
  return {
    // A getter, because reading it reads files.
    get connection() {
      return kube.connection
    },
    ...requestsWithDeadline(kube, patience),
    stream: async (path, signal) => await kube.stream(path, signal),
    close: async () => await kube.close(),
  }
}

/** The same for clients that only send requests. */
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
    // The error of an aborted request varies.
    throw end.signal.aborted ? late : error
  } finally {
    clearTimeout(timer)
  }
}

function withSignal(options: RequestOptions, signal: AbortSignal): RequestOptions {
  return { ...options, signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]) }
}

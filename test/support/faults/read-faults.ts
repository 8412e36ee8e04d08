// Faults of reads behind the proxy: answers of the proxy instead of the server, and watches whose events are lost, doubled or late.
//
// A real API server may refuse (429, 401, 403, 5xx), answer that a version is too old (410), answer a LIST with the oldest state that the request allows, delay
// the events of a kind, and repeat events after a reconnection. It must not omit an event of an open watch, or answer a GET with an older state. Both
// have happened (etcd #15271, #17247).

import type { Readable } from 'node:stream'

/** A GET, LIST or WATCH request. */
export interface ReadRequest {
  /** Plural of the kind. */
  readonly plural: string
  /** Undefined for lists and watches. */
  readonly name: string | undefined
  readonly query: URLSearchParams
  readonly isWatch: boolean
}

export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly retryAfterSeconds?: number
}

/** An answer of the proxy. */
export interface CannedAnswer {
  readonly status: number
  readonly retryAfterSeconds?: number
  readonly body: object
}

export interface ReadFaults {
  /** Called for each read and watch. Undefined: the proxy forwards the request. */
  readonly instead?: (read: ReadRequest) => CannedAnswer | undefined | Promise<CannedAnswer | undefined>
  /** Called for each line of a watch. The client gets the returned lines. A promise delays this watch only. */
  readonly lines?: (read: ReadRequest, line: string) => readonly string[] | Promise<readonly string[]>
}

export function seenRead(url: string): ReadRequest {
  const { pathname, searchParams } = new URL(url, 'http://server')
  const [, plural = '', name] = /\/namespaces\/[^/]+\/([^/]+)(?:\/([^/]+))?/.exec(pathname) ?? []
  return { plural, name, query: searchParams, isWatch: searchParams.has('watch') }
}

/** The Status object of a refusal. */
export function statusOf({ status, reason }: Refusal, more: object = {}): object {
  const said = { status: 'Failure', code: status, reason, message: 'made up by a test' }
  return { kind: 'Status', apiVersion: 'v1', ...said, ...more }
}

export function refused(refusal: Refusal): CannedAnswer {
  return { ...refusal, body: statusOf(refusal) }
}

/** The version from which a watch continues is too old. */
export const EXPIRED = statusOf({ status: 410, reason: 'Expired' })

export async function* watchLines(body: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
  }
}

/** The event in a line of a watch: its type, and the object's name and version. */
export function eventIn(line: string): { readonly type: string; readonly name: string; readonly version: number } {
  const { type, object } = JSON.parse(line) as {
    readonly type: string
    readonly object: { readonly metadata?: { readonly name?: string; readonly resourceVersion?: string } }
  }
  return { type, name: object.metadata?.name ?? '', version: Number(object.metadata?.resourceVersion) }
}

/** A bookmark with the version of an event. */
export function bookmarkOf(line: string): string {
  const { object } = JSON.parse(line) as {
    readonly object: { readonly metadata: { readonly resourceVersion: string } }
  }
  return JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: object.metadata.resourceVersion } },
  })
}

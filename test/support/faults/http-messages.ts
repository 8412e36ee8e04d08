// The requests, answers and watch lines that the proxy of fault tests shows to a test.

import type { ServerResponse } from 'node:http'
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

/** An answer with a Status object. */
export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly retryAfterSeconds?: number
  /** Further fields of the Status object. */
  readonly more?: object
}

/** An answer of the proxy. */
export type Answer =
  Refusal | { readonly status: number; readonly body: object } | { readonly status: number; readonly headers: Headers }
type Headers = Readonly<Record<string, string>>

/** The version from which a watch continues is too old. */
export const EXPIRED: Refusal = { status: 410, reason: 'Expired' }

export function requestOf(url: string): ReadRequest {
  const { pathname, searchParams } = new URL(url, 'http://server')
  const [, plural = '', name] = /\/namespaces\/[^/]+\/([^/]+)(?:\/([^/]+))?/.exec(pathname) ?? []
  return { plural, name, query: searchParams, isWatch: searchParams.has('watch') }
}

/** The Status object of a refusal. */
export function bodyOf({ status, reason, more }: Refusal): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: status,
    reason,
    message: 'made up by a test',
    ...more,
  }
}

export function answerWith(res: ServerResponse, answer: Answer): void {
  if ('headers' in answer) {
    res.writeHead(answer.status, answer.headers)
    res.end()
    return
  }
  const after = 'retryAfterSeconds' in answer ? { 'retry-after': String(answer.retryAfterSeconds) } : {}
  res.writeHead(answer.status, { 'content-type': 'application/json', ...after })
  res.end(JSON.stringify('body' in answer ? answer.body : bodyOf(answer)))
}

export async function* watchLines(body: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
  }
}

interface WatchEvent {
  readonly type: string
  readonly object: { readonly metadata?: { readonly resourceVersion?: string } }
}

export function isBookmark(line: string): boolean {
  return (JSON.parse(line) as WatchEvent).type === 'BOOKMARK'
}

/** A bookmark with the version of an event. */
export function bookmarkOf(line: string): string {
  const { object } = JSON.parse(line) as WatchEvent
  return JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: object.metadata?.resourceVersion } },
  })
}

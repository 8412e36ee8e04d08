// How the reads of a process go wrong behind its proxy: answers that the server never gave, and watches whose events are lost, doubled or late.
//
// What a real API server may do: refuse (429, 401, 403, 5xx), say that a version is too old (410), answer a LIST by the oldest state that the
// request allows, be late with the events of a kind, repeat after a reconnection what was told before. What it may not do: leave out an
// event of a watch that goes on, or answer a GET by an older state. It has happened all the same (etcd #15271, #17247).

import type { Readable } from 'node:stream'

/** A read on its way. */
export interface SeenRead {
  /** Plural of the kind. */
  readonly plural: string
  /** Undefined: all of the namespace. */
  readonly name: string | undefined
  readonly query: URLSearchParams
  readonly isWatch: boolean
}

export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly retryAfterSeconds?: number
}

/** An answer that the server did not give. */
export interface Instead {
  readonly status: number
  readonly retryAfterSeconds?: number
  readonly body: object
}

export interface ReadFaults {
  /** Asked for each read, that of a watch too, before it comes to the server; undefined: it does. */
  readonly instead?: (read: SeenRead) => Instead | undefined | Promise<Instead | undefined>
  /** Asked for each line of a watch: the lines that its client gets in its place. What is waited for holds up this watch alone. */
  readonly lines?: (read: SeenRead, line: string) => readonly string[] | Promise<readonly string[]>
}

export function seenRead(url: string): SeenRead {
  const { pathname, searchParams } = new URL(url, 'http://server')
  const [, plural = '', name] = /\/namespaces\/[^/]+\/([^/]+)(?:\/([^/]+))?/.exec(pathname) ?? []
  return { plural, name, query: searchParams, isWatch: searchParams.has('watch') }
}

/** What the server says of a refusal. */
export function statusOf({ status, reason }: Refusal, more: object = {}): object {
  const said = { status: 'Failure', code: status, reason, message: 'made up by a test' }
  return { kind: 'Status', apiVersion: 'v1', ...said, ...more }
}

export function refused(refusal: Refusal): Instead {
  return { ...refusal, body: statusOf(refusal) }
}

/** The version that a watch wants to go on from is too old. */
export const EXPIRED = statusOf({ status: 410, reason: 'Expired' })

export async function* watchLines(body: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
  }
}

/** The event that a line of a watch tells: its type, and the object's name and version. */
export function eventIn(line: string): { readonly type: string; readonly name: string; readonly version: number } {
  const { type, object } = JSON.parse(line) as {
    readonly type: string
    readonly object: { readonly metadata?: { readonly name?: string; readonly resourceVersion?: string } }
  }
  return { type, name: object.metadata?.name ?? '', version: Number(object.metadata?.resourceVersion) }
}

/** As the server says, without an event of its own, how far a watch has come. */
export function bookmarkOf(line: string): string {
  const { object } = JSON.parse(line) as {
    readonly object: { readonly metadata: { readonly resourceVersion: string } }
  }
  return JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: object.metadata.resourceVersion } },
  })
}

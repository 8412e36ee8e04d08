// Faults of reads behind the proxy: answers of the proxy instead of the server, and watches whose events are lost, doubled or late.
//
// A real API server may refuse (429, 401, 403, 5xx), answer that a version is too old (410), answer a LIST with the oldest state that the request allows, delay
// the events of a kind, and repeat events after a reconnection. It must not omit an event of an open watch, or answer a GET with an older state. Both
// have happened (etcd #15271, #17247).

import type { Readable } from 'node:stream'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { versionOf } from '../../../activities/kube/object-cache.ts'
import type { VersionWatch } from '../cluster/version-watch.ts'

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

/** O1. @param onStale called for each answer that differs from the store. */
export function asOldAsAllowed(watch: VersionWatch, onStale: () => void) {
  return async (read: ReadRequest): Promise<CannedAnswer | undefined> => {
    const version = Number(read.query.get('resourceVersion') ?? 0)
    if (read.isWatch || read.name !== undefined || version === 0 || !watch.follows(read.plural)) return undefined
    await watch.upToDate()
    const answer = listAt(watch, read, version)
    if (JSON.stringify(answer) !== JSON.stringify(listAt(watch, read, Infinity))) onStale()
    return { status: 200, body: inList(answer, version) }
  }
}

/** O2. @param isFrozen called for each read. */
export function frozenAt(watch: VersionWatch, version: number, isFrozen: () => boolean) {
  if (!Number.isInteger(version)) throw new Error(`the version to freeze at is ${version}, expected a number`)
  return async (read: ReadRequest): Promise<CannedAnswer | undefined> => {
    if (read.isWatch || !watch.follows(read.plural) || !isFrozen()) return undefined
    await watch.upToDate()
    const { name, query } = read
    if (Number(query.get('resourceVersion') ?? 0) > version) return TOO_LARGE
    const found = listAt(watch, read, version)
    if (name === undefined) return { status: 200, body: inList(found, version) }
    const [object] = found.filter(({ metadata }) => metadata.name === name)
    if (object !== undefined) return { status: 200, body: object }
    return { status: 404, body: statusOf({ status: 404, reason: 'NotFound' }) }
  }
}

const TOO_LARGE: CannedAnswer = {
  status: 504,
  retryAfterSeconds: 1,
  body: statusOf({ status: 504, reason: 'Timeout' }, { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }),
}

function listAt(watch: VersionWatch, { plural, query }: ReadRequest, version: number): readonly KubeObject[] {
  const wanted = (query.get('labelSelector') ?? '').split(',').filter((part) => part !== '')
  const isSelected = ({ metadata: { labels = {} } }: KubeObject) =>
    wanted.every((part) => {
      const [key = '', value, ...rest] = part.split('=')
      if (value === undefined || rest.length > 0) throw new Error(`this label selector is not known here: ${part}`)
      return labels[key] === value
    })
  return watch.asOf(version).filter((object) => pluralOf(object) === plural && isSelected(object))
}

function pluralOf({ kind = '' }: KubeObject): string {
  return `${kind.toLowerCase()}s`
}

function inList(items: readonly KubeObject[], version: number): object {
  const newest = Math.max(0, ...items.map(versionOf))
  const resourceVersion = String(Number.isFinite(version) ? version : newest)
  return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion }, items }
}

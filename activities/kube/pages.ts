// A list, page after page. A page that is too large, or takes the server too long, is asked for again with fewer objects.
//
//   P1. Smaller pages go on behind the last one that came: what was read is not read again, and the list stays one.
//   P2. An object that is too large by itself is named: the list fails, for without it nobody could tell it from one that is gone.
//   P3. What is too large is halved until it fits. What is slow is made much smaller twice, and no more: a server that is slow because it has too much to do
//       gets no further requests for it, and the caller's back-off has the word.

import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient, KubeObject, ObjectList, RequestOptions } from './client.ts'
import { KubeError } from './errors.ts'

export interface PagesOptions {
  /** Selectors, and how fresh the list has to be. */
  readonly query?: Readonly<Record<string, string>>
  /** Objects per page; undefined: all at once, which servers answer from memory, unless that is too large, or was the last time. */
  readonly limit: number | undefined
  readonly signal?: AbortSignal | undefined
  /** What a page may have at the most; beyond, the process would hold it as text and as objects. Default 32 MiB: 500 Pods are some 5. */
  readonly mostBytes?: number
}

/** As the server sends it, with what was asked for. Of a server that is not trusted nothing is what it says. */
export interface Page extends ObjectList {
  readonly limit: number | undefined
}

const MIB = 1024 * 1024
/** What is tried after all at once. */
const FIRST_LIMIT = 500
/** P3 */
const SLOW_PART = 8
const MOST_SLOW = 2
/** A server that wants more time than this is asked again by whoever comes back later. */
const LONGEST_PAUSE_MS = 5000

/**
 * The pages of one consistent list.
 *
 * @throws KubeError: `RequestEntityTooLarge` for an object that is too large by itself; 410 when the server does not know the list any more.
 */
export async function* readPages(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  { query = {}, limit: wanted, signal, mostBytes = 32 * MIB }: PagesOptions,
): AsyncGenerator<Page> {
  const how = { signal, maxBodyBytes: mostBytes }
  const selectors = selectorsIn(query)
  const remembered = { kube, list: `${path}?${new URLSearchParams(selectors).toString()}` }
  let pace: PageSize = { limit: wanted ?? lastPageLimit(remembered), slow: 0 }
  let token: string | undefined
  do {
    const { limit } = pace
    const asked = withLimit(token === undefined ? query : { ...selectors, continue: token }, limit)
    let list: ObjectList
    try {
      list = await kube.request<ObjectList>('GET', path, { query: asked, isRetriedSmaller: mayBeSlower(pace), ...how })
    } catch (error) {
      if (limit === 1 && isTooLarge(error)) throw await objectTooLarge(kube, path, { query: asked, ...how })
      pace = await nextPageSize(pace, error, signal)
      continue
    }
    const isWhole = token === undefined && nextOf(list) === ''
    // One that came whole comes so again, all at once.
    if (wanted === undefined) rememberPageLimit(remembered, isWhole ? undefined : limit)
    token = nextOf(list)
    pace = { limit, slow: 0 }
    yield { ...list, limit }
  } while (token !== '')
}

interface PageSize {
  readonly limit: number | undefined
  /** How often in a row the server was too slow. */
  readonly slow: number
}

const mayBeSlower = ({ limit, slow }: PageSize) => limit !== 1 && slow < MOST_SLOW

function withLimit(query: Readonly<Record<string, string>>, limit: number | undefined) {
  return limit === undefined ? query : { ...query, limit: String(limit) }
}

/** P3. @throws the error where nothing smaller is to be asked for. */
async function nextPageSize(pace: PageSize, error: unknown, signal: AbortSignal | undefined): Promise<PageSize> {
  const { limit, slow } = pace
  if (isTooLarge(error)) return { limit: limit === undefined ? FIRST_LIMIT : Math.floor(limit / 2), slow }
  const pauseMs = isSlow(error) ? (error.retryAfterMs ?? 0) : Infinity
  if (!mayBeSlower(pace) || pauseMs > LONGEST_PAUSE_MS) throw error
  if (pauseMs > 0) await sleep(pauseMs, undefined, { signal })
  return { limit: Math.max(1, Math.floor((limit ?? FIRST_LIMIT) / SLOW_PART)), slow: slow + 1 }
}

function nextOf({ metadata }: { readonly metadata?: unknown }): string {
  const token = typeof metadata === 'object' && metadata !== null && 'continue' in metadata ? metadata.continue : ''
  return typeof token === 'string' ? token : ''
}

/** All objects of a list. */
export async function readAll(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  options: PagesOptions,
): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = []
  for await (const { items } of readPages(kube, path, options)) objects.push(...items)
  return objects
}

// How fresh a list is was said when it was begun; the server refuses to hear it again.
function selectorsIn(query: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !name.startsWith('resourceVersion')))
}

function isTooLarge(error: unknown): error is KubeError {
  return error instanceof KubeError && (error.status === 413 || codeOf(error) === 'BODY_TOO_LONG')
}

/** Whether less of it may be ready in time. */
function isSlow(error: unknown): error is KubeError {
  if (!(error instanceof KubeError) || TOO_NEW.test(error.message)) return false
  return SLOW.has(error.status) || isSilent(error)
}

// A server that does not know the wanted version yet says so with 504, too; of that no page is small enough.
const TOO_NEW = /Too large resource version/
// 504: the API server's own word for a request that took too long, and that of proxies before it.
const SLOW: ReadonlySet<number> = new Set([408, 504])
// Over HTTP/2 an answer that has begun is cut after the server's time for a request (a minute): NGHTTP2_INTERNAL_ERROR. ETIMEDOUT: a client with a
// limit of its own.
const SILENT: ReadonlySet<unknown> = new Set([
  ...['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ERR_HTTP2_STREAM_ERROR', 'ETIMEDOUT'],
])

/** Whether the server did not answer in time; it may answer for less. */
export function isSilent(error: KubeError): boolean {
  return SILENT.has(codeOf(error))
}

function codeOf({ cause }: KubeError): unknown {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** P2. Its metadata still fit. */
async function objectTooLarge(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  asked: RequestOptions & { readonly maxBodyBytes: number },
): Promise<KubeError> {
  const which = await kube
    .request<unknown>('GET', path, { ...asked, accept: METADATA_ONLY })
    .then(nameIn)
    .catch(() => 'an object')
  const most = `${asked.maxBodyBytes / MIB} MiB`
  const message = `GET ${path}: ${which} alone is more than the server sends, or than ${most}; expected less in it`
  return new KubeError(message, { status: 413, reason: 'RequestEntityTooLarge' })
}

/** Of the first object of a list. The name goes to users, so nothing but a name does. */
function nameIn(list: unknown): string {
  const { items } = list as { readonly items?: unknown }
  const [object] = Array.isArray(items)
    ? (items as readonly { readonly metadata?: Readonly<Record<string, unknown>> }[])
    : []
  const { namespace, name } = object?.metadata ?? {}
  if (!isName(name)) return 'an object'
  return `object ${isName(namespace) ? `${namespace}/` : ''}${name}`
}

// Of Kubernetes: names of its own kinds may have colons and capital letters (roles).
const NAME = /^[a-zA-Z0-9]([-.:a-zA-Z0-9]{0,251}[a-zA-Z0-9])?$/

function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text)
}

// Lists that were too large all at once: in which pages they came, so that the next pass does not read what it has to throw away first.
// Per client, and bounded; only memory, for a process that does not know tries all at once.

export interface ListKey {
  readonly kube: Pick<KubeClient, 'request'>
  /** Path and selectors. */
  readonly list: string
}

const MOST_LISTS = 500
const LIMITS = new WeakMap<ListKey['kube'], Map<string, number>>()

/** Undefined: it came all at once, or was not asked for lately. */
export function lastPageLimit({ kube, list }: ListKey): number | undefined {
  return LIMITS.get(kube)?.get(list)
}

/** @param limit undefined: all at once. */
export function rememberPageLimit({ kube, list }: ListKey, limit: number | undefined): void {
  const limits = LIMITS.get(kube) ?? new Map<string, number>()
  LIMITS.set(kube, limits)
  // What is used goes to the end; the one that was used least lately is forgotten.
  limits.delete(list)
  if (limit === undefined) return
  limits.set(list, limit)
  const [oldest] = limits.keys()
  if (limits.size > MOST_LISTS && oldest !== undefined) limits.delete(oldest)
}

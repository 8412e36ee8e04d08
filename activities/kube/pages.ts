// Reads a list in pages. A page that is too large or too slow is requested again with fewer objects.
//
//   P1. Smaller pages continue after the last received page: no object is read twice, and the list stays consistent.
//   P2. If one object alone is too large, the list fails and names it, because a missing object would count as deleted.
//   P3. The size of pages that are too large is halved until a page fits. Slow pages are made much smaller at most
//       twice, because further requests would increase the load of an overloaded server; then the caller's back-off
//       applies.

import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient, KubeObject, ObjectList, RequestOptions } from './client.ts'
import { KubeError } from './errors.ts'

export interface PagesOptions {
  /** Selectors, and the required freshness. */
  readonly query?: Readonly<Record<string, string>>
  /**
   * Objects per page; undefined: the whole list at once, which servers answer from memory, unless that was too large
   * now or the last time.
   */
  readonly limit: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Maximum bytes of a page, which the process holds as text and as objects. Default 32 MiB: 500 Pods take about 5. */
  readonly mostBytes?: number
}

/** A page of the server with its requested limit. The content of untrusted servers is not validated. */
export interface Page extends ObjectList {
  readonly limit: number | undefined
}

const MIB = 1024 * 1024
/** First page size after the whole list at once failed. */
const FIRST_LIMIT = 500
/** A slow page is divided by this number (P3). */
const SLOW_PART = 8
const MOST_SLOW = 2
/** A call does not retry a request whose answer has a longer Retry-After. */
const LONGEST_PAUSE_MS = 5000

/**
 * Reads the pages of one consistent list.
 *
 * @throws KubeError: `RequestEntityTooLarge` for an object that is too large by itself; 410 when the list has expired
 * on the server.
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
    // A list that fit at once is requested at once the next time.
    if (wanted === undefined) rememberPageLimit(remembered, isWhole ? undefined : limit)
    token = nextOf(list)
    pace = { limit, slow: 0 }
    yield { ...list, limit }
  } while (token !== '')
}

interface PageSize {
  readonly limit: number | undefined
  /** Number of consecutive slow answers. */
  readonly slow: number
}

const mayBeSlower = ({ limit, slow }: PageSize) => limit !== 1 && slow < MOST_SLOW

function withLimit(query: Readonly<Record<string, string>>, limit: number | undefined) {
  return limit === undefined ? query : { ...query, limit: String(limit) }
}

/**
 * The next page size (P3). @throws the error if no smaller page should be requested.
 */
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

/** Reads all objects of a list. */
export async function readAll(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  options: PagesOptions,
): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = []
  for await (const { items } of readPages(kube, path, options)) objects.push(...items)
  return objects
}

// The first request set the freshness; the server rejects it in later ones.
function selectorsIn(query: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !name.startsWith('resourceVersion')))
}

function isTooLarge(error: unknown): error is KubeError {
  return error instanceof KubeError && (error.status === 413 || codeOf(error) === 'BODY_TOO_LONG')
}

/** Whether a smaller page may be answered in time. */
function isSlow(error: unknown): error is KubeError {
  if (!(error instanceof KubeError) || TOO_NEW.test(error.message)) return false
  return SLOW.has(error.status) || isSilent(error)
}

// A server that has not reached the requested version answers 504 too; no page size helps.
const TOO_NEW = /Too large resource version/
// 504: the API server's status for a request that took too long; proxies use it too.
const SLOW: ReadonlySet<number> = new Set([408, 504])
// Over HTTP/2 the server resets an answer that has begun after its time limit (a minute): NGHTTP2_INTERNAL_ERROR.
// ETIMEDOUT: the limit of a client.
const SILENT: ReadonlySet<unknown> = new Set([
  ...['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ERR_HTTP2_STREAM_ERROR', 'ETIMEDOUT'],
])

/** Whether the server did not answer in time; a smaller page may succeed. */
export function isSilent(error: KubeError): boolean {
  return SILENT.has(codeOf(error))
}

function codeOf({ cause }: KubeError): unknown {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** The error for an object that is too large (P2); its metadata still fit. */
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
  const message = `GET ${path}: ${which} alone exceeds the limit of the server, or ${most}; make the object smaller`
  return new KubeError(message, { status: 413, reason: 'RequestEntityTooLarge' })
}

/** Name of the first object of a list. It is shown to users, so it must be a valid name. */
function nameIn(list: unknown): string {
  const { items } = list as { readonly items?: unknown }
  const [object] = Array.isArray(items)
    ? (items as readonly { readonly metadata?: Readonly<Record<string, unknown>> }[])
    : []
  const { namespace, name } = object?.metadata ?? {}
  if (!isName(name)) return 'an object'
  return `object ${isName(namespace) ? `${namespace}/` : ''}${name}`
}

// Kubernetes' own kinds allow colons and capital letters (roles).
const NAME = /^[a-zA-Z0-9]([-.:a-zA-Z0-9]{0,251}[a-zA-Z0-9])?$/

function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text)
}

export interface ListKey {
  readonly kube: Pick<KubeClient, 'request'>
  /** Path and selectors. */
  readonly list: string
}

const MOST_LISTS = 500
const LIMITS = new WeakMap<ListKey['kube'], Map<string, number>>()

/** Last page size of a list; undefined: the whole list at once, or not requested recently. */
export function lastPageLimit({ kube, list }: ListKey): number | undefined {
  return LIMITS.get(kube)?.get(list)
}

/**
 * Remembers the page size of a list, per client. A new process tries the whole list at once first.
 *
 * @param limit undefined: the whole list at once.
 */
export function rememberPageLimit({ kube, list }: ListKey, limit: number | undefined): void {
  const limits = LIMITS.get(kube) ?? new Map<string, number>()
  LIMITS.set(kube, limits)
  // Used entries move to the end; the least recently used one is removed.
  limits.delete(list)
  if (limit === undefined) return
  limits.set(list, limit)
  const [oldest] = limits.keys()
  if (limits.size > MOST_LISTS && oldest !== undefined) limits.delete(oldest)
}

// An informer without a journal: lists the objects of one collection and then emits each change, for programs that keep
// all objects in memory.
//
//   F1. The first result is a list, which also reveals deletions that were missed; so does every later list.
//   F2. After an interruption the watch resumes at its last version; it lists again only when the server cannot resume
//       (410).
//   F3. No error ends the iteration: it retries with exponential back-off. Only the signal ends it.
//   F4. It lists again after `relistMs`, because a watch may have missed a change.

import { setTimeout as sleep } from 'node:timers/promises'

import type { EventType } from '../journal/write/incoming-events.ts'
import type { KubeClient, KubeObject } from './client.ts'
import { KubeError } from './errors.ts'
import { readPages } from './pages.ts'
import { watchError, refusedWatch, needsList, readMessages } from './watch-stream.ts'

export type FollowedChange =
  | { readonly type: 'listed'; readonly objects: readonly KubeObject[] }
  | { readonly type: 'event'; readonly eventType: EventType; readonly object: KubeObject }
  /** The watch is retried after this time. */
  | { readonly type: 'interrupted'; readonly error: unknown; readonly delayMs: number }

export interface FollowOptions {
  /** Selectors. */
  readonly query?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly random?: () => number
  readonly backoffMs?: { readonly first: number; readonly longest: number }
  /** Maximum time between two lists (F4). */
  readonly relistMs?: number
}

const BACKOFF_MS = { first: 100, longest: 10_000 }
const RELIST_MS = 600_000
// The server ends a watch after a random time between these limits. Source: spec/engine.md 2.4.
const WATCH_SECONDS = [300, 600] as const
const WATCHDOG_MS = 75_000
const PAGE_LIMIT = 500

/** Ends when the signal is aborted. Errors of the server are emitted, not thrown. */
export async function* followObjects(
  kube: Pick<KubeClient, 'request' | 'stream'>,
  path: string,
  options: FollowOptions,
): AsyncGenerator<FollowedChange> {
  const { signal, backoffMs = BACKOFF_MS, random = Math.random } = options
  const position: Position = { version: undefined, listDueAt: 0, failures: 0 }
  while (!isAborted(signal)) {
    let leastMs = 0
    let failure: unknown
    try {
      yield* followOnce(kube, path, options, position)
    } catch (error) {
      if (isAborted(signal)) return
      failure = error
      if (error instanceof KubeError && needsList({ code: error.status, reason: error.reason }))
        position.version = undefined
      leastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
    }
    // The back-off also applies to a server that accepts the watch and closes it immediately.
    const delayMs = Math.max(leastMs, delayAfter(position.failures++, backoffMs, random()))
    if (failure !== undefined) yield { type: 'interrupted', error: failure, delayMs }
    await pause(delayMs, signal)
  }
}

interface Position {
  version: string | undefined
  listDueAt: number
  failures: number
}

/** One watch until the server ends it. */
async function* followOnce(
  kube: Pick<KubeClient, 'request' | 'stream'>,
  path: string,
  options: FollowOptions,
  position: Position,
): AsyncGenerator<FollowedChange> {
  const { relistMs = RELIST_MS } = options
  if (position.version === undefined || performance.now() >= position.listDueAt) {
    const { objects, version } = await list(kube, path, options)
    position.version = version
    position.listDueAt = performance.now() + relistMs
    yield { type: 'listed', objects }
  }
  for await (const message of watch(kube, path, options, position.version)) {
    position.version = String(message.resourceVersion)
    position.failures = 0
    if (message.type === 'event') yield { type: 'event', eventType: message.eventType, object: message.object }
  }
}

const isAborted = (signal: AbortSignal): boolean => signal.aborted

async function list(kube: Pick<KubeClient, 'request'>, path: string, { query, signal }: FollowOptions) {
  const objects: KubeObject[] = []
  let version: string | undefined
  for await (const page of readPages(kube, path, { ...(query && { query }), limit: PAGE_LIMIT, signal })) {
    version ??= page.metadata.resourceVersion
    objects.push(...page.items)
  }
  if (version === undefined) throw new Error(`list of ${path}: the server returned no page`)
  return { objects, version }
}

/** One connection. */
async function* watch(
  kube: Pick<KubeClient, 'stream'>,
  path: string,
  { query, signal, random = Math.random }: FollowOptions,
  version: string,
) {
  const connection = new AbortController()
  const [shortest, longest] = WATCH_SECONDS
  const search = new URLSearchParams({
    ...query,
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: version,
    timeoutSeconds: String(Math.round(shortest + random() * (longest - shortest))),
  })
  const asked = `${path}?${search.toString()}`
  try {
    const response = await kube.stream(asked, AbortSignal.any([signal, connection.signal]))
    if (response.statusCode !== 200) throw await refusedWatch(asked, response)
    for await (const message of readMessages(response.body, WATCHDOG_MS, () => connection.abort())) {
      if (message.type === 'error') throw watchError(asked, message.status)
      yield message
    }
  } finally {
    connection.abort()
  }
}

function delayAfter(failures: number, { first, longest }: { first: number; longest: number }, random: number): number {
  return Math.min(longest, first * 2 ** failures) * (0.5 + random / 2)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

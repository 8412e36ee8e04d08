// The reflector of one kind of one cluster: takes part in leader election, lists, watches, and feeds the journal. client-node's informer is not used: it stops
// after errors, swallows exceptions, and supports neither bookmarks nor back-pressure. Source: spec/engine.md 2.4, docs/concepts/architecture.md "Journal".
//
//   R1. One reflector per cluster and kind writes: every transaction checks the lease.
//   R2. After an error the reflector reconnects. Only the signal stops it.
//   R3. The watch resumes from the last version that was read; after a restart, a lost lease, or a fail-over to another PostgreSQL, from the checkpoint.
//   R4. The kind is listed periodically, because a watch may miss events without an error. If the list fails, the watch continues: servers throttle lists
//       first, and watch events must not wait for them.

import {
  type HeldLease,
  type LeaseRequest,
  acquireLease,
  LeaseLost,
  otherNamespace,
  releaseLease,
  renewLease,
} from '../../activities/journal/write/checkpoints.ts'
import { isNotFound, KubeError } from '../../activities/kube/errors.ts'
import { watchError, refusedWatch, needsList, readMessages } from '../../activities/kube/watch-stream.ts'
import { feedJournal } from './feed.ts'
import { collectionPath, relist, selectorsOf } from './relist.ts'
import { PendingQueue } from './pending.ts'
import {
  labelOf,
  retryListAt,
  nextListAt,
  type ReflectorDeps,
  type ReflectorHealth,
  type LeaseTerm,
} from './lease-term.ts'
import { type Backoff, createBackoff, pause } from '../server/backoff.ts'
import type { Readiness } from '../server/health.ts'
import { groupKindOf, groupKindText, type WatchedKind } from '../../workflows/kit/index.ts'

export interface Reflector {
  /** Such as `Widget.example.com`. */
  readonly kind: string
  /** Runs until the signal is aborted; never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** The current activity, for /readyz; undefined: this reflector is caught up, or is a standby. */
  behind(): string | undefined
  /** Age of the oldest event that is not in the journal; 0 without such an event. */
  lagMs(): number
}

// If the oldest event is older, the kind does not count as caught up.
const MAX_EVENT_AGE_MS = 10_000

export function createReflector(watched: WatchedKind, deps: ReflectorDeps): Reflector {
  const health: ReflectorHealth = { phase: 'starting', journalFailing: false }
  let queue: PendingQueue | undefined
  return {
    kind: labelOf(watched),
    async run(signal) {
      const backoff = createBackoff(deps.settings.backoffMs, deps.random)
      while (!signal.aborted) {
        queue = new PendingQueue(deps.settings.pendingLimit)
        const delayMs = await holdTerm({ watched, deps, health, queue }, backoff, signal)
        await pause(delayMs, signal)
      }
      const { db, cluster, owner } = deps
      await releaseLease(db, cluster, groupKindOf(watched), owner).catch(() => undefined)
    },
    lagMs: () => queue?.ageMs(Date.now()) ?? 0,
    behind() {
      if (health.journalFailing) return 'the journal refuses'
      // A kind without CRD has no events.
      if (health.phase === 'not served') return undefined
      if (health.phase !== 'watching' && health.phase !== 'standby') return health.phase
      return (queue?.ageMs(Date.now()) ?? 0) > MAX_EVENT_AGE_MS ? 'events are waiting' : undefined
    },
  }
}

interface Candidate {
  readonly watched: WatchedKind
  readonly deps: ReflectorDeps
  readonly health: ReflectorHealth
  readonly queue: PendingQueue
}

/** Acquires the lease if it is free, and follows the kind until the lease is lost; returns the delay before the next attempt. */
async function holdTerm(
  { watched, deps, health, queue }: Candidate,
  backoff: Backoff,
  signal: AbortSignal,
): Promise<number> {
  const { db, cluster, owner, settings, log, namespace } = deps
  try {
    const request = { cluster, ...groupKindOf(watched), owner, leaseMs: settings.leaseMs, namespace }
    const lease = await acquireLease(db, request)
    health.journalFailing = false
    backoff.reset()
    if (lease === undefined) {
      if (health.phase !== 'standby') await warnOfOtherNamespaces(deps, request)
      health.phase = 'standby'
      return settings.leaseMs / 3
    }
    await followUnderLease({ watched, deps, health, queue }, lease, signal)
    return 0
  } catch (error) {
    if (signal.aborted) return 0
    health.phase = 'starting'
    health.journalFailing = !(error instanceof LeaseLost)
    log.warn(
      { kind: labelOf(watched), error: String(error) },
      error instanceof LeaseLost ? 'lost the watch' : 'could not follow the kind',
    )
    return backoff.next()
  }
}

/**
 * A journal has one choice of namespaces for each name of a cluster. Only a warning, because the processes of an upgrade
 * that changes the choice run at the same time.
 */
async function warnOfOtherNamespaces({ db, log }: ReflectorDeps, request: LeaseRequest): Promise<void> {
  const other = await otherNamespace(db, request)
  if (other === undefined) return
  const found = other === '' ? 'all namespaces' : `the namespace ${other}`
  const expected = request.namespace === undefined ? 'all namespaces' : `the namespace ${request.namespace}`
  log.warn(
    { kind: groupKindText(request), cluster: request.cluster, found, expected },
    'another bridge with this journal and this name of the cluster watches other namespaces, so this bridge waits; give each release its own --cluster',
  )
}

async function followUnderLease(
  { watched, deps, health, queue }: Candidate,
  lease: HeldLease,
  signal: AbortSignal,
): Promise<void> {
  const termEnd = new AbortController()
  const { resourceVersion, epoch, timeline } = lease
  const position = {
    watchFrom: resourceVersion,
    checkpoint: resourceVersion,
    epoch,
    timeline,
    listDue: nextListAt(deps),
  }
  const term: LeaseTerm = { ...deps, watched, health, position, signal: AbortSignal.any([signal, termEnd.signal]) }
  const tasks = [renewPeriodically(term), feedJournal(term, queue), follow(term, queue)]
  try {
    await Promise.race(tasks)
  } finally {
    termEnd.abort(new LeaseLost(term.cluster, groupKindOf(watched), term.owner))
    await Promise.allSettled(tasks)
  }
}

async function renewPeriodically({
  db,
  cluster,
  watched,
  owner,
  position,
  settings,
  signal,
  log,
}: LeaseTerm): Promise<void> {
  for (;;) {
    await pause(settings.leaseMs / 3, signal)
    signal.throwIfAborted()
    try {
      const { timeline } = position
      await renewLease(db, { cluster, ...groupKindOf(watched), owner, leaseMs: settings.leaseMs, timeline })
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      // The journal is away. If another process takes the lease meanwhile, the next transaction fails (R1).
      log.debug({ kind: labelOf(watched), error: String(error) }, 'could not renew the lease')
    }
  }
}

/** Lists and watches until the term ends (R2). @throws only LeaseLost and the signal's reason. */
async function follow(term: LeaseTerm, queue: PendingQueue): Promise<never> {
  const { settings, random, log, watched, position, health, signal } = term
  const backoff = createBackoff(settings.backoffMs, random)
  for (;;) {
    signal.throwIfAborted()
    try {
      if (position.watchFrom === undefined) await listAfterDrain(term, queue)
      else if (performance.now() >= position.listDue) await tryDueList(term, queue)
      health.phase = 'connecting'
      await watch(term, queue, backoff)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      if (error instanceof KubeError && needsList({ code: error.status, reason: error.reason }))
        position.watchFrom = undefined
      if (isNotFound(error)) {
        await awaitKind(term, backoff)
        continue
      }
      const delayMs = Math.max(backoff.next(), error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
      term.metrics?.count('pawl_watch_interruptions_total', { kind: labelOf(watched) })
      log.warn(
        { kind: labelOf(watched), error: String(error), delayMs, version: position.watchFrom },
        'watch was interrupted',
      )
      health.phase = 'connecting'
      await pause(delayMs, signal)
    }
  }
}

async function listAfterDrain(term: LeaseTerm, queue: PendingQueue): Promise<void> {
  const { health, position } = term
  // During a periodic list (R4) events of the watch are still complete.
  if (health.phase !== 'not served' && position.watchFrom === undefined) health.phase = 'listing'
  // Events from before the list belong to the last epoch and are journaled first.
  await queue.waitUntilEmpty(term.signal)
  await relist(term)
}

/** R4. @throws only errors after which another watch cannot succeed. */
async function tryDueList(term: LeaseTerm, queue: PendingQueue): Promise<void> {
  const { log, watched, position, signal } = term
  try {
    await listAfterDrain(term, queue)
  } catch (error) {
    // Without a version to watch from (the cluster was restored from a backup) a list is required.
    const isOver = signal.aborted || error instanceof LeaseLost || isNotFound(error) || position.watchFrom === undefined
    if (isOver) throw error
    const leastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
    position.listDue = retryListAt(term, leastMs)
    log.warn({ kind: labelOf(watched), error: String(error) }, 'the periodic list failed; the watch continues')
  }
}

// Short enough for a user who applies a CRD.
const MAX_KIND_POLL_MS = 2000

/** Waits for the CRD of the kind. Logged once; a removed CRD has removed all its objects. */
async function awaitKind({ log, watched, position, health, signal }: LeaseTerm, backoff: Backoff): Promise<void> {
  const { apiVersion, plural } = watched
  if (health.phase !== 'not served')
    log.warn(
      { kind: labelOf(watched), apiVersion, plural },
      'the cluster does not serve this kind; apply its CRD; the bridge waits for the CRD',
    )
  health.phase = 'not served'
  position.watchFrom = undefined
  await pause(Math.min(backoff.next(), MAX_KIND_POLL_MS), signal)
}

/** One watch connection. Returns when the server closes it; then `position.watchFrom` has the version to resume from. */
async function watch(term: LeaseTerm, queue: PendingQueue, backoff: Backoff): Promise<void> {
  const { kube, watched, settings, position, health, signal } = term
  const connection = new AbortController()
  const path = watchPath(term)
  const { statusCode, headers, body } = await kube.stream(path, AbortSignal.any([signal, connection.signal]))
  if (statusCode !== 200) throw await refusedWatch(path, { statusCode, headers, body })
  health.phase = 'watching'
  let hasMessages = false
  try {
    for await (const message of readMessages(body, settings.watchdogMs, () => connection.abort())) {
      if (message.type === 'error') throw watchError(path, message.status)
      const { resourceVersion } = message
      const event = message.type === 'event' ? { watched, type: message.eventType, object: message.object } : undefined
      await queue.add({ resourceVersion, event }, Date.now(), signal)
      position.watchFrom = resourceVersion
      // Not earlier: a server that accepts and closes connections at once must meet the back-off.
      backoff.reset()
      hasMessages = true
    }
  } finally {
    connection.abort()
  }
  if (hasMessages) return
  health.phase = 'connecting'
  await pause(backoff.next(), signal)
}

function watchPath(term: LeaseTerm): string {
  const { settings, position, random } = term
  const [shortest, longest] = settings.watchSeconds
  const seconds = Math.min(shortest + random() * (longest - shortest), (position.listDue - performance.now()) / 1000)
  const query = new URLSearchParams({
    ...selectorsOf(term),
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: String(position.watchFrom),
    timeoutSeconds: String(Math.max(1, Math.round(seconds))),
  })
  return `${collectionPath(term)}?${query.toString()}`
}

// A bridge is ready if every kind is caught up, or another bridge follows it.

export function reflectorReadiness(reflectors: readonly Reflector[]): Readiness {
  return { field: 'behind', failures: () => laggingKinds(reflectors) }
}

/** The kinds that are not caught up, with their current activity. */
export function laggingKinds(reflectors: readonly Reflector[]): Record<string, string> {
  return Object.fromEntries(
    reflectors.flatMap((reflector) => {
      const behind = reflector.behind()
      return behind === undefined ? [] : [[reflector.kind, behind]]
    }),
  )
}

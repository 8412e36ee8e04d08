// Follows one kind of one cluster: stands by for its lease, lists when it must, watches, and feeds the journal.
// client-node's informer is not used: errors end it, it swallows exceptions and knows neither bookmarks nor back-pressure.
// Source: spec/engine.md 2.4, docs/architecture.md "Journal".
//
//   R1. One reflector per cluster and kind writes: the lease is checked in every transaction.
//   R2. Any error reconnects, none ends the reflector. Only the signal does.
//   R3. The watch resumes where it was read to; after a restart or a lost lease, and when another PostgreSQL has the journal, from the checkpoint.
//   R4. Now and then the kind is listed all the same: a watch may have left out what nobody would tell again. Where that fails the watch goes on: servers
//       throttle lists first, and what is seen by the watch must not wait for them.

import {
  type HeldLease,
  acquireLease,
  LeaseLost,
  releaseLease,
  renewLease,
} from '../../activities/journal/write/checkpoints.ts'
import { isNotFound, KubeError } from '../../activities/kube/errors.ts'
import { watchError, refusedWatch, needsList, readMessages } from '../../activities/kube/watch-stream.ts'
import { feedJournal } from './feed.ts'
import { collectionPath, relist, selectorsOf } from './relist.ts'
import { PendingQueue } from './pending.ts'
import { labelOf, laterList, nextList, type ReflectorDeps, type ReflectorHealth, type Term } from './lease-term.ts'
import { type Backoff, createBackoff, pause } from '../server/backoff.ts'
import type { Readiness } from '../server/health.ts'
import { groupKindOf, type WatchedKind } from '../../workflows/kit/index.ts'

export interface Reflector {
  /** `Widget.example.com`. */
  readonly kind: string
  /** Runs until the signal; never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** Undefined: caught up, or another process is. Else what it is doing, for /readyz. */
  behind(): string | undefined
}

// Events that wait longer than this make the kind count as not caught up.
const LONGEST_WAIT_MS = 10_000

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
    behind() {
      if (health.journalFailing) return 'the journal refuses'
      // Nothing can be missed of a kind that is not there.
      if (health.phase === 'not served') return undefined
      if (health.phase !== 'watching' && health.phase !== 'standing by') return health.phase
      return (queue?.ageMs(Date.now()) ?? 0) > LONGEST_WAIT_MS ? 'events are waiting' : undefined
    },
  }
}

interface Candidate {
  readonly watched: WatchedKind
  readonly deps: ReflectorDeps
  readonly health: ReflectorHealth
  readonly queue: PendingQueue
}

/** Takes the lease, if it is free, and follows the kind until it is lost; returns how long to wait before the next try. */
async function holdTerm(
  { watched, deps, health, queue }: Candidate,
  backoff: Backoff,
  signal: AbortSignal,
): Promise<number> {
  const { db, cluster, owner, settings, log } = deps
  try {
    const lease = await acquireLease(db, { cluster, ...groupKindOf(watched), owner, leaseMs: settings.leaseMs })
    health.journalFailing = false
    backoff.reset()
    if (lease === undefined) {
      health.phase = 'standing by'
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

async function followUnderLease(
  { watched, deps, health, queue }: Candidate,
  lease: HeldLease,
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController()
  const { resourceVersion, epoch, timeline } = lease
  const position = { read: resourceVersion, journaled: resourceVersion, epoch, timeline, listDue: nextList(deps) }
  const term: Term = { ...deps, watched, health, position, signal: AbortSignal.any([signal, ending.signal]) }
  const parts = [keepLease(term), feedJournal(term, queue), follow(term, queue)]
  try {
    await Promise.race(parts)
  } finally {
    ending.abort(new LeaseLost(term.cluster, groupKindOf(watched), term.owner))
    await Promise.allSettled(parts)
  }
}

async function keepLease({ db, cluster, watched, owner, position, settings, signal, log }: Term): Promise<void> {
  for (;;) {
    await pause(settings.leaseMs / 3, signal)
    signal.throwIfAborted()
    try {
      const { timeline } = position
      await renewLease(db, { cluster, ...groupKindOf(watched), owner, leaseMs: settings.leaseMs, timeline })
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      // The journal is away. Whoever takes the lease when it is back is found out by the next transaction (R1).
      log.debug({ kind: labelOf(watched), error: String(error) }, 'could not renew the lease')
    }
  }
}

/** Lists and watches, for ever (R2). @throws only LeaseLost and the signal's reason. */
async function follow(term: Term, queue: PendingQueue): Promise<never> {
  const { settings, random, log, watched, position, health, signal } = term
  const backoff = createBackoff(settings.backoffMs, random)
  for (;;) {
    signal.throwIfAborted()
    try {
      if (position.read === undefined) await listAnew(term, queue)
      else if (performance.now() >= position.listDue) await listWhatIsDue(term, queue)
      health.phase = 'connecting'
      await watch(term, queue, backoff)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      if (error instanceof KubeError && needsList({ code: error.status, reason: error.reason }))
        position.read = undefined
      if (isNotFound(error)) {
        await awaitKind(term, backoff)
        continue
      }
      const delayMs = Math.max(backoff.next(), error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
      log.warn(
        { kind: labelOf(watched), error: String(error), delayMs, version: position.read },
        'watch was interrupted',
      )
      health.phase = 'connecting'
      await pause(delayMs, signal)
    }
  }
}

async function listAnew(term: Term, queue: PendingQueue): Promise<void> {
  const { health, position } = term
  // A list that is only due (R4) says nothing of events that are waiting.
  if (health.phase !== 'not served' && position.read === undefined) health.phase = 'listing'
  // What was read before belongs to the last epoch and enters the journal first.
  await queue.drained(term.signal)
  await relist(term)
}

/** R4. @throws only what another watch does not help against. */
async function listWhatIsDue(term: Term, queue: PendingQueue): Promise<void> {
  const { log, watched, position, signal } = term
  try {
    await listAnew(term, queue)
  } catch (error) {
    // Without a version to watch from (the cluster went back in time) only a list helps.
    const isOver = signal.aborted || error instanceof LeaseLost || isNotFound(error) || position.read === undefined
    if (isOver) throw error
    const leastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
    position.listDue = laterList(term, leastMs)
    log.warn({ kind: labelOf(watched), error: String(error) }, 'could not list what is due; watching on')
  }
}

// Soon enough after `kubectl apply` of a definition.
const LONGEST_WAIT_FOR_KIND_MS = 2000

/** The server has no such kind: its definition is not installed, or was removed. Said once; what it held of the kind is gone with it. */
async function awaitKind({ log, watched, position, health, signal }: Term, backoff: Backoff): Promise<void> {
  const { apiVersion, plural } = watched
  if (health.phase !== 'not served')
    log.warn(
      { kind: labelOf(watched), apiVersion, plural },
      'the cluster does not serve this kind; expected its CRD to be installed; waiting for it',
    )
  health.phase = 'not served'
  position.read = undefined
  await pause(Math.min(backoff.next(), LONGEST_WAIT_FOR_KIND_MS), signal)
}

/** One connection. Returns when the server ends it; afterwards `position.read` says where to go on. */
async function watch(term: Term, queue: PendingQueue, backoff: Backoff): Promise<void> {
  const { kube, watched, settings, position, health, signal } = term
  const connection = new AbortController()
  const path = watchPath(term)
  const { statusCode, headers, body } = await kube.stream(path, AbortSignal.any([signal, connection.signal]))
  if (statusCode !== 200) throw await refusedWatch(path, { statusCode, headers, body })
  health.phase = 'watching'
  let heard = false
  try {
    for await (const message of readMessages(body, settings.watchdogMs, () => connection.abort())) {
      if (message.type === 'error') throw watchError(path, message.status)
      const { resourceVersion } = message
      const event = message.type === 'event' ? { watched, type: message.eventType, object: message.object } : undefined
      await queue.add({ resourceVersion, event }, Date.now(), signal)
      position.read = resourceVersion
      // Only now: a server that accepts and cuts at once must meet the back-off.
      backoff.reset()
      heard = true
    }
  } finally {
    connection.abort()
  }
  if (!heard) await pause(backoff.next(), signal)
}

function watchPath(term: Term): string {
  const { settings, position, random } = term
  const [shortest, longest] = settings.watchSeconds
  const seconds = Math.min(shortest + random() * (longest - shortest), (position.listDue - performance.now()) / 1000)
  const query = new URLSearchParams({
    ...selectorsOf(term),
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: String(position.read),
    timeoutSeconds: String(Math.max(1, Math.round(seconds))),
  })
  return `${collectionPath(term)}?${query.toString()}`
}

// When a bridge is ready: every kind is caught up, or another bridge follows it.

export function caughtUp(reflectors: readonly Reflector[]): Readiness {
  return { word: 'behind', wrong: () => notCaughtUp(reflectors) }
}

/** The kinds that are not caught up, with what they are doing. */
export function notCaughtUp(reflectors: readonly Reflector[]): Record<string, string> {
  return Object.fromEntries(
    reflectors.flatMap((reflector) => {
      const behind = reflector.behind()
      return behind === undefined ? [] : [[reflector.kind, behind]]
    }),
  )
}

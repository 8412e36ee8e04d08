// The state of one reflector while it holds the lease of its kind (its leadership).

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Database } from '../../activities/journal/database.ts'
import type { JournalDeps } from '../../activities/journal/write/events.ts'
import type { RefusedEventOptions } from '../../activities/journal/write/refused-events.ts'
import type { Metrics } from '../../activities/run/metrics.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { groupKindOf, groupKindText, type WatchedKind } from '../../workflows/kit/index.ts'
import type { ReflectorSettings } from './settings.ts'

export interface ReflectorDeps {
  readonly cluster: string
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  /** The only watched namespace; undefined: all. */
  readonly namespace?: string | undefined
  readonly db: Kysely<Database>
  readonly journal: JournalDeps
  /** The identity of this process in leader election; each start has another one. */
  readonly owner: string
  readonly settings: ReflectorSettings
  readonly log: Logger
  /** Counts BRIDGE_METRICS; absent: not counted. */
  readonly metrics?: Pick<Metrics, 'count'>
  /** 0 <= n < 1. */
  readonly random: () => number
}

/** The progress of the watch. */
export interface Position {
  /** The resourceVersion to watch from; undefined: a list is needed. */
  watchFrom: number | undefined
  /** The resourceVersion of the stored checkpoint. */
  checkpoint: number | undefined
  epoch: number
  /** The time of the next periodic list, by `performance.now()`. */
  listDue: number
  /** The timeline of the PostgreSQL server that granted the lease. */
  readonly timeline: string
}

export interface ReflectorHealth {
  /** `not served`: the cluster does not have this kind; its CRD may be installed at any time. */
  phase: 'starting' | 'standby' | 'listing' | 'connecting' | 'watching' | 'not served'
  journalFailing: boolean
}

export interface LeaseTerm extends ReflectorDeps {
  readonly watched: WatchedKind
  readonly position: Position
  readonly health: ReflectorHealth
  /** Ends the term: the process stops, or the lease is lost. */
  readonly signal: AbortSignal
}

/** The time of the next periodic list, with jitter between kinds and bridges. */
export function nextListAt({ settings, random }: Pick<ReflectorDeps, 'settings' | 'random'>): number {
  return performance.now() + settings.relistMs * (0.5 + random() / 2)
}

// Long enough for a server that throttles lists to recover, and short compared to the interval of lists.
const RETRY_LIST_MS = 5 * 60_000

/** When a failed periodic list is retried. */
export function retryListAt({ settings, random }: Pick<ReflectorDeps, 'settings' | 'random'>, leastMs: number): number {
  return performance.now() + Math.max(leastMs, Math.min(RETRY_LIST_MS, settings.relistMs) * (0.5 + random() / 2))
}

/** The kind in logs and on /readyz, such as `Widget.example.com`. */
export function labelOf(watched: WatchedKind): string {
  return groupKindText(groupKindOf(watched))
}

/** Skips an event that the database rejects, and logs an error. */
export function refusalPolicy({ position, watched, log }: LeaseTerm): RefusedEventOptions {
  return {
    journaled: position.checkpoint,
    onRefused(event, error) {
      const { namespace, name, uid } = 'missing' in event ? event.missing : event.object.metadata
      log.error({ kind: labelOf(watched), namespace, name, uid, error: String(error) }, 'event could not be journaled')
    },
  }
}

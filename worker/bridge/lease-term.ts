// The time during which one reflector holds the lease of its kind, and what its parts share meanwhile.

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Database } from '../../activities/journal/database.ts'
import type { JournalDeps } from '../../activities/journal/write/events.ts'
import type { RefusedEventOptions } from '../../activities/journal/write/refused-events.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { groupKindOf, groupKindText, type WatchedKind } from '../../workflows/kit/index.ts'
import type { BridgeSettings } from './settings.ts'

export interface ReflectorDeps {
  readonly cluster: string
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  /** The only namespace to follow; undefined = all. */
  readonly namespace?: string | undefined
  readonly db: Kysely<Database>
  readonly journal: JournalDeps
  /** Name of this process among the bridges; each start has its own. */
  readonly owner: string
  readonly settings: BridgeSettings
  readonly log: Logger
  /** 0 <= n < 1. */
  readonly random: () => number
}

/** How far the kind was followed. */
export interface Position {
  /** The version to watch from; undefined: a list is needed. */
  read: number | undefined
  /** The checkpoint. */
  journaled: number | undefined
  epoch: number
  /** When the kind is listed again though its watch goes on, by `performance.now()`. */
  listDue: number
  /** Of the PostgreSQL that gave the lease. */
  readonly timeline: string
}

export interface ReflectorHealth {
  /** `not served`: the cluster has no such kind; it may get one at any time. */
  phase: 'starting' | 'standing by' | 'listing' | 'connecting' | 'watching' | 'not served'
  journalFailing: boolean
}

export interface Term extends ReflectorDeps {
  readonly watched: WatchedKind
  readonly position: Position
  readonly health: ReflectorHealth
  /** Ends the term: the process stops, or the lease is lost. */
  readonly signal: AbortSignal
}

/** When the next list is due: not for all kinds, nor all bridges, at once. */
export function nextList({ settings, random }: Pick<ReflectorDeps, 'settings' | 'random'>): number {
  return performance.now() + settings.relistMs * (0.5 + random() / 2)
}

// Long enough for a server that throttles lists to recover, short beside the time between two lists.
const LATER_MS = 5 * 60_000

/** When a list that was due and failed is tried again. */
export function laterList({ settings, random }: Pick<ReflectorDeps, 'settings' | 'random'>, leastMs: number): number {
  return performance.now() + Math.max(leastMs, Math.min(LATER_MS, settings.relistMs) * (0.5 + random() / 2))
}

/** The kind as logs and /readyz name it, `Widget.example.com`. */
export function labelOf(watched: WatchedKind): string {
  return groupKindText(groupKindOf(watched))
}

/** How to journal what the database may refuse: one event less, and a line in the log. */
export function carefully({ position, watched, log }: Term): RefusedEventOptions {
  return {
    journaled: position.journaled,
    onRefused(event, error) {
      const { namespace, name, uid } = 'missing' in event ? event.missing : event.object.metadata
      log.error({ kind: labelOf(watched), namespace, name, uid, error: String(error) }, 'event could not be journaled')
    },
  }
}

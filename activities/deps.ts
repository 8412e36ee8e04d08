// Dependencies of activities: created once by the worker and passed in; tests create their own. A wing has its own part
// under its name (`landscaper/deps.ts`).

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type {
  By,
  ClockReading,
  Controller,
  GroupKind,
  JsonValue,
  Mode,
  RoutedEvent,
  Routing,
  StatsdEnvironment,
  Subject,
  WatchedKind,
} from '../workflows/kit/index.ts'
import type { Database } from './journal/database.ts'
import type { GroupedJournal } from './journal/write/grouped-journal.ts'
import type { KubeClient } from './kube/client.ts'
import type { ObjectCache } from './kube/object-cache.ts'
import type { InFlightRuns } from './run/in-flight-runs.ts'
import type { ControllerObserver } from './run/controller-observer.ts'
import type { Metrics } from './run/metrics.ts'
import type { RunMetrics } from './run/run-metrics.ts'
import type { NotificationSender } from './run/notifier.ts'

export interface Deps {
  /** Name of the cluster in the journal. */
  readonly cluster: string
  readonly kube: KubeClient
  readonly db: Kysely<Database>
  /** Shared by all activities of the process, like `objects`. */
  readonly journal: GroupedJournal
  readonly objects: ObjectCache
  /** Runs with a running workflow task in this process. */
  readonly inFlightRuns: InFlightRuns
  /** Routes of all controllers. */
  readonly route: (event: RoutedEvent) => Routing
  /** By name. */
  readonly controllers: ReadonlyMap<string, Controller>
  /** The kind of each controller's subjects. */
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly modes: Readonly<Record<string, Mode>>
  /** Kinds that the bridge watches, for level-mode controllers; absent without such controllers. */
  readonly followed?: readonly WatchedKind[]
  /** Key of content hashes in the journal; stored outside of it. */
  readonly contentKey: Buffer | undefined
  /** Settings of a controller's wing for its passes (`OpenWing.settings`); absent without such wings. */
  readonly wingSettings?: (controller: string) => JsonValue | undefined
  /** Sends notifications about Events; absent: none. */
  readonly notices?: NotificationSender
  /** Hooks of a controller's wing; absent or undefined: none. */
  readonly observerOf?: (controller: string) => ControllerObserver | undefined
  /** Metrics of this process; absent: none. */
  readonly metrics?: Metrics
  /** Counts runs; absent: not counted. */
  readonly runMetrics?: RunMetrics
  /** Address for metrics of wings; absent: not configured. */
  readonly statsd?: StatsdEnvironment
  /** Node of this process; absent: not configured. */
  readonly nodeName?: string
  /** Environment of this process, for programs that activities start and for variables of wings; absent: empty. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly now: () => Date
  /** Clocks for time limits; absent: passes use the time of their runs only. */
  readonly clocks?: () => ClockReading
  /** For information that neither outcomes nor statuses contain. */
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** The end of a job before it is written. */
export interface ComingEnd {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The final phase. */
  readonly phase: string
  /** Client with the deadline of a settle. */
  readonly kube: KubeClient
}

/**
 * Work of a wing before the end of a job is written, by the job's controller, so that subjects woken by the end find it
 * done. Idempotent: a repeated settle repeats it. An error delays the end.
 */
export type BeforeEnd = Readonly<Record<string, (end: ComingEnd) => Promise<void>>>

/** An object whose deletion is complete: the engine is about to remove its finalizer. */
export interface ComingRelease {
  readonly by: By
  readonly subject: Subject
}

/**
 * The work of a wing before the engine removes the finalizer of an object, by the controller of the object. Idempotent: a pass that is repeated does it
 * again. An error keeps the finalizer.
 */
export type BeforeRelease = Readonly<Record<string, (release: ComingRelease) => Promise<void>>>

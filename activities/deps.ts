// What activities of all wings need from their process. Made once by the worker and passed in; tests make their own. A wing adds a part of its
// own, under its name (`landscaper/deps.ts`).

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
import type { NotificationSender } from './run/notifier.ts'

export interface Deps {
  /** Name of the cluster in the journal. */
  readonly cluster: string
  readonly kube: KubeClient
  readonly db: Kysely<Database>
  /** Shared by all activities of the process, and so are the objects that it saw. */
  readonly journal: GroupedJournal
  readonly objects: ObjectCache
  /** The runs that are inside a workflow task of this process. */
  readonly inFlightRuns: InFlightRuns
  /** Which subjects an event concerns: the routes of all controllers. */
  readonly route: (event: RoutedEvent) => Routing
  /** By name. */
  readonly controllers: ReadonlyMap<string, Controller>
  /** The kind of each controller's subjects. */
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly modes: Readonly<Record<string, Mode>>
  /** The kinds that the bridge follows, for controllers in level mode; absent where there are none. */
  readonly followed?: readonly WatchedKind[]
  /** Key of content hashes in the journal; kept outside of it. */
  readonly contentKey: Buffer | undefined
  /** What a controller's wing tells its passes (`OpenWing.settings`); absent where no wing does. */
  readonly wingSettings?: (controller: string) => JsonValue | undefined
  /** Who is told of Events outside of the cluster; absent: nobody. */
  readonly notices?: NotificationSender
  /** What the controller's wing hears; absent, or undefined: nothing. */
  readonly observerOf?: (controller: string) => ControllerObserver | undefined
  /** What this process counts; absent: nothing. */
  readonly metrics?: Metrics
  /** Where wings send metrics that send any; absent: nobody has said it. */
  readonly statsd?: StatsdEnvironment
  /** The node on which this process runs; absent: nobody has said it. */
  readonly nodeName?: string
  readonly now: () => Date
  /** For what must not last too long; absent: passes go by the time of their runs alone. */
  readonly clocks?: () => ClockReading
  /** For what neither an outcome nor a status can say. */
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** The end of a job that is about to be written. */
export interface ComingEnd {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The final one. */
  readonly phase: string
  /** The API server, for as long as a settle may take. */
  readonly kube: KubeClient
}

/**
 * What a wing does before the end of a job can be read, by the controller whose job it is: whoever is woken by the end finds it done. Idempotent: a
 * settle that is repeated does it again. What it throws withholds the end.
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

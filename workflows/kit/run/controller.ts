// What the engine knows of a controller: one pure value, in `<wing>/<kind>/controller.ts`. The registry is generated from these values; nothing
// else lists controllers or asks for one by its name. Controllers in level mode are values of `defineLevel`, told in the same words here.

import type { Path } from '../kind/projection.ts'
import type { Flow } from '../kind/flow.ts'
import type { GroupKind } from '../kind/group-kind.ts'
import type { OwnedFields } from '../kind/fields.ts'
import type { WrittenKind } from './level/declared-writes.ts'
import type { LevelController, LevelTarget } from './level/define-level.ts'
import type { LevelSettings } from './level/level-settings.ts'
import { levelKinds, levelRoutes } from './level/level-routes.ts'
import type { DryRun } from './job/dry-run.ts'
import type { JobPlan } from './job/job.ts'
import type { Partitions } from './partitions.ts'
import type { JobStatus, StatusFields } from './job/job-status.ts'
import type { Step } from '../plan/step.ts'
import type { StateQuery } from './level/query.ts'
import type { ErrorReport } from './subject.ts'
import { type ControllerRoutes, jobIDsOf, type WatchedKind } from './routes.ts'

/** `job`: one run is one job of one object. `level`: one run is an object, until it has converged. */
export type Mode = 'job' | 'level'

/**
 * The run a subject's state asks for; `jobID` undefined: a new one, derived from uid and version. Empty: the one run of the object, in level
 * mode.
 */
export type RunRequest = JobRequest | NoRequest

interface NoRequest {
  /** Why. */
  readonly none: string
  /** What somebody who looks at the object has to know: a Warning event, once for each job that it has had. */
  readonly warning?: ErrorReport
}

interface JobRequest {
  readonly jobID: string | undefined
  readonly cause: string
  /** It is asked for from then on, in milliseconds since 1970; absent: now. Until then its wake waits in the journal. */
  readonly notBefore?: number
  /** What the first write of a new job says beside `JobStatus.begun`. */
  readonly onBegin?: (now: string) => StatusFields
  /** The run is for something else: no job begins in it. Its ID then only names the run. */
  readonly isJobless?: true
}

/** What may ask for a job of an idle object. The sweep looks at the objects that have one of these; `wantedRun` decides. */
export interface JobTrigger {
  /** Where of the object's projection something stands. */
  readonly path: Path
  /** Only while the object's generation is another one than `status.observedGeneration`. */
  readonly when?: 'edited'
  /** A text: not that something stands there asks for a job, but that this is not in the list there. */
  readonly lacks?: string
}

/** How subjects stand to their siblings, for those who draw them. */
interface Siblings {
  /** Where the name is by which siblings mean it; absent: its own. */
  readonly name?: Path
  /** Where the names of those are that have to succeed before, separated by commas. */
  readonly after?: Path
  /** What of a whole object, with its spec, is handed between siblings; names are words for people. */
  readonly flow?: (object: object) => Flow
}

/** Annotations, by their keys. */
type Annotations = Readonly<Record<string, string>>

/** How people steer subjects through the API server, for the command line. */
interface Steering {
  /** The kind whose children get their jobs from it alone; only others are roots. */
  readonly parent?: GroupKind
  /** Asks for a job, of a root. */
  readonly reconcile?: Annotations
  /** Where the reason of that stands. */
  readonly reason?: string
  readonly interrupt?: Annotations
  /** Holds back what has not begun. */
  readonly pause?: Pausing
  /** Asks for a job of a part alone. */
  readonly retry?: Annotations
  /** The annotation whose value says why a part is left out. */
  readonly skip?: string
  /** Where a part says what it is called in what it is a part of; absent: nobody there calls it anything. */
  readonly nameInParent?: Path
  /** Of a root: its deletion leaves what was deployed. */
  readonly orphan?: Annotations
  /** The finalizer that goes with the job of a deletion. */
  readonly finalizer: string
  /** The annotation that says who asked for what, and why. */
  readonly auditAnnotation: string
}

interface Pausing {
  /** The annotation whose value is the reason. */
  readonly annotation: string
  /** Where the status says `by`, `since` and `reason`. */
  readonly statusPath: Path
}

interface AnyController {
  /** Of its runs: the type of their workflow, and the first part of their IDs. Its field manager is `pawl-<name>`. */
  readonly name: string
  /** The kinds that the bridge follows for it. */
  readonly watches: readonly WatchedKind[]
  readonly routes: ControllerRoutes
  /**
   * Takes objects and projections alike.
   *
   * @param ownerGone the subject has no controlling owner that still exists.
   * @param ownerJob the job that its controlling owner has unfinished. One that is the subject's, too, is hosted there.
   */
  readonly requestedRun: (subject: object, ownerGone: boolean, ownerJob?: string) => RunRequest
  readonly triggers: readonly JobTrigger[]
}

/** A controller in mode job: the journal keeps of its subjects what their projection says. */
export interface JobModeController extends AnyController {
  readonly mode: 'job'
  /** The kind of its subjects. */
  readonly target: WatchedKind
  /**
   * The controllers whose runs host its subjects, while they and their owners have a job in common: that of the owners, then that which hosts those in
   * turn. Wakes of hosted subjects are for these runs.
   */
  readonly hostedBy?: readonly string[]
  /** How workers may share out its subjects. Runs of `hostedBy` host subjects of the lanes that they serve; others are roots where these are served. */
  readonly partitions?: Partitions
  /** What its runs do: by phase, or, where actions write the status, in every pass. */
  readonly plan: JobPlan<never> | Step<never>
  /** What its passes read beside their target, as its document declares it (job-query.ts). */
  readonly queries: Readonly<Record<string, StateQuery>>
  /** How its subjects say where a job stands. */
  readonly status: JobStatus
  /** What it writes, and no other controller does. */
  readonly fields: OwnedFields
  readonly siblings?: Siblings
  readonly steering?: Steering
  /** What a job of it would do. Absent: nobody can say. */
  readonly dryRun?: DryRun
}

export interface LevelModeController extends AnyController {
  readonly mode: 'level'
  readonly target: LevelTarget
  /** By state; the views among them are called by activities. */
  readonly queries: Readonly<Record<string, StateQuery>>
  readonly settings: LevelSettings | undefined
  /** What it declares to write: beside its own namespace only there can an object be its target's by label. */
  readonly writes: readonly WrittenKind[]
  readonly hostedBy?: never
  readonly partitions?: never
}

export type Controller = JobModeController | LevelModeController

/** A controller in level mode, as the engine knows all controllers. */
export function levelMode(level: LevelController): LevelModeController {
  return {
    name: level.name,
    mode: 'level',
    target: level.target,
    queries: level.queries,
    settings: level.settings,
    writes: level.writes,
    watches: levelKinds(level),
    routes: levelRoutes(level),
    requestedRun: () => ({ jobID: '', cause: 'changed' }),
    triggers: [],
  }
}

/** What a subject asks for; undefined while that depends on an owner of which it is not known whether it is there. */
export function requestedRunOf(
  wantedRun: Controller['requestedRun'],
  subject: object,
  owner: 'present' | 'gone' | 'unknown',
  ownerJob?: string,
): RunRequest | undefined {
  const wanted = wantedRun(subject, owner === 'gone', ownerJob)
  if (owner !== 'unknown') return wanted
  // The owner may be gone, and it may host the subject.
  const others = [wantedRun(subject, true), wantedRun(subject, false, jobIDsOf(subject).jobID)]
  return others.every((other) => isSame(wanted, other)) ? wanted : undefined
}

function isSame(left: RunRequest, right: RunRequest): boolean {
  return 'none' in left || 'none' in right ? 'none' in left && 'none' in right : left.jobID === right.jobID
}

// The type of a controller as the engine knows it: one pure value in `<wing>/<kind>/controller.ts`. `pawl gen` writes
// the registry from these values; no other code lists controllers or names one. `levelMode` converts a value of
// `defineLevel`. `OwnedFields` declares the fields that one controller writes and no other one; a test compares the
// declarations with each other and with `managedFields` in a live cluster.

import type { Path, Projection } from '../kind/projection.ts'
import type { Flow } from '../kind/kind.ts'
import type { GroupKind } from '../kind/group-kind.ts'
import type { WrittenKind } from './level/declared-writes.ts'
import type { LevelDeclaration, LevelTarget } from './level/define-level.ts'
import type { LevelSettings } from './level/level-settings.ts'
import { levelKinds, levelRoutes } from './level/level-routes.ts'
import type { DryRun } from './job/dry-run.ts'
import type { JobPlan } from './job/job.ts'
import type { Partitions } from './partitions.ts'
import type { JobStatus, StatusFields } from './job/job-status.ts'
import type { Step } from '../plan/step.ts'
import type { StateQuery } from './level/query.ts'
import type { ErrorReport } from './subject.ts'
import type { ExplainStatus } from './explain-status.ts'
import { type ControllerRoutes, jobIDsOf, type WatchedKind } from './routes.ts'

/** `job`: one run per job of an object. `level`: one run per object, until the object has converged. */
export type Mode = 'job' | 'level'

/**
 * The run that an object's state requests. `jobID` undefined: a new job ID, derived from uid and version. Empty: the only run of the object, in level
 * mode.
 */
export type RunRequest = JobRequest | NoRequest

interface NoRequest {
  /** The reason for requesting no run. */
  readonly none: string
  /** Text of a Warning Event on the object, recorded once for each of its jobs. */
  readonly warning?: ErrorReport
}

interface JobRequest {
  readonly jobID: string | undefined
  readonly cause: string
  /** Earliest start in milliseconds since 1970; default now. Until then the wake waits in the journal. */
  readonly notBefore?: number
  /** Status fields of the job's first write, in addition to `JobStatus.onBegin`. */
  readonly onBegin?: (now: string) => StatusFields
  /** The run starts no job, for example it only adds the finalizer. The job ID is then only part of the run's name. */
  readonly isJobless?: true
}

/** A sign that an idle object may need a job. The resync selects objects with one of these; `requestedRun` decides. */
export interface JobTrigger {
  /** Path in the object's projection: the trigger matches when the field exists. */
  readonly path: Path
  /** Matches only when the object's generation differs from `status.observedGeneration`. */
  readonly when?: 'edited'
  /** Matches when the list at `path` does not contain this text, instead of when the field exists. */
  readonly lacks?: string
}

/** How objects of the kind depend on their siblings, for the command line's drawings. */
interface Siblings {
  /** Path of the name that siblings use for the object; default `metadata.name`. */
  readonly name?: Path
  /** Path of the comma-separated names of siblings that must succeed first. */
  readonly after?: Path
  /** The names that an object exports to its siblings and imports from them. */
  readonly flow?: (object: object) => Flow
}

/** The objects in which the jobs of an object of the kind store their inputs, which the object owns, and where the inputs come from; for `pawl diff` and `why`. */
export interface JobInputs {
  /** The word for one input, such as `import`. */
  readonly noun: string
  readonly kinds: readonly WatchedKind[]
  /** Reads the projection; undefined if the object stores no input. */
  readonly inputOf: (projection: Projection) => JobInput | undefined
  /** Reads the complete object. */
  readonly valueOf: (object: object) => InputValue
  /** The objects that the inputs of the next job come from. Takes the complete object that has the jobs. */
  readonly sourcesOf: (object: object) => readonly InputSource[]
}

/** An object in the same namespace. */
export interface InputSource {
  /** The name of the input. */
  readonly name: string
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly object: string
}

interface JobInput {
  readonly name: string
  /** The job that wrote the value. */
  readonly jobID: string
}

/** The values are absent if they may be secret, or if no object has them. */
interface InputValue {
  /** In words, such as `ConfigMap sizes, key cpu`. */
  readonly source?: string
  readonly value?: unknown
  readonly previous?: { readonly jobID: string; readonly value: unknown }
}

/** Annotations by key. */
type Annotations = Readonly<Record<string, string>>

/** How users control objects of the kind through the API server, for the command line. */
interface Steering {
  /** The parent's kind: a child with such a parent gets its jobs from the parent only; all other objects are roots. */
  readonly parent?: GroupKind
  /** Requests a job of a root. */
  readonly reconcile?: Annotations
  /** The annotation for the reason of the request. */
  readonly reason?: string
  readonly interrupt?: Annotations
  /** Keeps new jobs from starting. */
  readonly pause?: Pausing
  /** Requests a job of a single child. */
  readonly retry?: Annotations
  /** The annotation whose value is the reason for skipping a child. */
  readonly skip?: string
  /** Path of the name that the parent uses for the child; default none. */
  readonly nameInParent?: Path
  /** On a root: its deletion keeps the deployed objects. */
  readonly orphan?: Annotations
  /** The finalizer that the job of a deletion removes. */
  readonly finalizer: string
  /** The annotation that records which user requested what, and why. */
  readonly auditAnnotation: string
}

interface Pausing {
  /** The annotation whose value is the reason. */
  readonly annotation: string
  /** Path of the status field with `by`, `since` and `reason`. */
  readonly statusPath: Path
}

interface AnyController {
  /** The workflow type of its runs and the first part of their workflow IDs. Its field manager is `pawl-<name>`. */
  readonly name: string
  /** The kinds that the bridge watches for the controller. */
  readonly watches: readonly WatchedKind[]
  readonly routes: ControllerRoutes
  /**
   * Returns the run that an object's state requests. Takes objects and projections.
   *
   * @param ownerGone the object has no controlling owner that still exists.
   * @param ownerJob the unfinished job of the controlling owner. If it is also the object's job, the owner's run hosts the object.
   */
  readonly requestedRun: (subject: object, ownerGone: boolean, ownerJob?: string) => RunRequest
  readonly triggers: readonly JobTrigger[]
  /** Explains the status to users of the command line. Default: `status.phase` and the errors of jobs. */
  readonly explain?: ExplainStatus
}

/** A controller in job mode: the journal stores the projection of its objects. */
export interface JobModeController extends AnyController {
  readonly mode: 'job'
  /** The kind that the controller reconciles. */
  readonly target: WatchedKind
  /**
   * Controllers whose runs host objects of this controller while the objects and their owners have the same job: the owners' controller first, then
   * the
   * controller that hosts the owners. The journal sends wakes of hosted objects to these runs.
   */
  readonly hostedBy?: readonly string[]
  /**
   * Partitions of the controller's objects among workers. Runs of `hostedBy` host objects of the partitions that they handle; objects of other
   * partitions
   * are roots where their partition is handled.
   */
  readonly partitions?: Partitions
  /** The plan of its runs: phases, or a single step per pass where actions write the status. */
  readonly plan: JobPlan<never> | Step<never>
  /** The queries of its passes, as declared in its document (job-query.ts). */
  readonly queries: Readonly<Record<string, StateQuery>>
  /** The status format of its kind. */
  readonly status: JobStatus
  /** The fields that only this controller writes. */
  readonly fields: OwnedFields
  readonly siblings?: Siblings
  readonly inputs?: JobInputs
  readonly steering?: Steering
  /** Computes the effects of a job without writing. Absent: dry runs do not support the kind. */
  readonly dryRun?: DryRun
}

export interface LevelModeController extends AnyController {
  readonly mode: 'level'
  readonly target: LevelTarget
  /** Queries by state name. Activities call their `view` functions. */
  readonly queries: Readonly<Record<string, StateQuery>>
  readonly settings: LevelSettings | undefined
  /** The finalizer that the controller adds and removes. Absent: none. */
  readonly finalizer?: string
  /** Declared writes. Outside of the target's namespace, only these places can contain objects that the target owns by label. */
  readonly writes: readonly WrittenKind[]
  readonly hostedBy?: never
  readonly partitions?: never
}

export type Controller = JobModeController | LevelModeController

/** Converts a controller in level mode to the engine's type. */
export function levelMode(level: LevelDeclaration): LevelModeController {
  return {
    name: level.name,
    mode: 'level',
    target: level.target,
    queries: level.queries,
    settings: level.settings,
    ...(level.finalizer !== undefined && { finalizer: level.finalizer }),
    writes: level.writes,
    watches: levelKinds(level),
    routes: levelRoutes(level),
    requestedRun: () => ({ jobID: '', cause: 'changed' }),
    triggers: [],
    ...(level.explain !== undefined && { explain: level.explain }),
  }
}

/** Returns the run that an object requests; undefined while the answer depends on an owner whose existence is unknown. */
export function requestedRunOf(
  wantedRun: Controller['requestedRun'],
  subject: object,
  owner: 'present' | 'gone' | 'unknown',
  ownerJob?: string,
): RunRequest | undefined {
  const wanted = wantedRun(subject, owner === 'gone', ownerJob)
  if (owner !== 'unknown') return wanted
  // The owner may have been deleted, or may host the object.
  const others = [wantedRun(subject, true), wantedRun(subject, false, jobIDsOf(subject).jobID)]
  return others.every((other) => isSame(wanted, other)) ? wanted : undefined
}

function isSame(left: RunRequest, right: RunRequest): boolean {
  return 'none' in left || 'none' in right ? 'none' in left && 'none' in right : left.jobID === right.jobID
}

export interface OwnedFields {
  /** Name of the controller; its field manager is `pawl-<controller>`. */
  readonly controller: string
  /** By kind; a path includes everything below it. An entry of a list of texts, such as a finalizer, is a key of the list. */
  readonly fields: Readonly<Record<string, readonly Path[]>>
  /** Kinds of objects that it creates under its own names; it owns all fields of these objects. */
  readonly makes: readonly string[]
}

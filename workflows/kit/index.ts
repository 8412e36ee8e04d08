// The kit's public API, names spelled out. Free of Temporal, so that CLI, console and unit tests can use it;
// run/loop/index.ts exports the part that needs Temporal, for workflow.ts files.
//
// docs/reference/kit derives from this file: each `# Title` below becomes a page, with the doc comments of its exports. The names below `# Internal` are
// shared by Pawl's own controllers and processes and may change with any version; each `## Topic` there becomes a row of a table.

// # Plans

export { action, nop, lastAction, checkedPlan, runStep } from './plan/step.ts'
export type { Step, LastAction, StepHooks, Runtime } from './plan/step.ts'
export { sequential, join, joinOrdered, parallelJoin, when, timeout, retry, orElse, always } from './plan/combine.ts'
export type { RetryOptions } from './plan/combine.ts'
// # Outcomes

export {
  done,
  again,
  later,
  stop,
  fail,
  retryLater,
  joinOutcomes,
  interrupts,
  isDone,
  wishedMs,
} from './plan/outcome.ts'
export type { Outcome, Fault, FaultCondition } from './plan/outcome.ts'
// # Drawings and traces

export { describe, toMermaid, toJson, phasesToMermaid, BEFORE_END } from './plan/describe.ts'
export type { DrawnStep, DrawnPhases, PlanJson } from './plan/describe.ts'
export { recordSteps, describeTrace, traceToMermaid } from './plan/trace.ts'
export type { StepRecorder, TracedStep, StepMark, TraceTextOptions } from './plan/trace.ts'

// # Kinds

export { defineKind } from './kind/kind.ts'
export type { KindDefinition, Kind, ObjectOf, Scope, WorkerVerb, ObjectMeta, OwnerReference } from './kind/kind.ts'
export type { KindVersion, PrinterColumn } from './kind/versions.ts'
export type { JsonObject } from './run/level/level-pass.ts'
export { path, label, annotation } from './kind/projection.ts'
export type { Path } from './kind/projection.ts'
export { contentHash, sha256 } from './kind/content-hash.ts'

// # Fields

export {
  text,
  oneOf,
  timestamp,
  bytes,
  integer,
  int64,
  decimal,
  intOrString,
  flag,
  list,
  mapOf,
  record,
  anyJson,
  anyMap,
  embedded,
  required,
} from './kind/schema.ts'

// # Options of fields

export type {
  FieldOptions,
  TextOptions,
  NumberOptions,
  IntOrStringOptions,
  ListOptions,
  MapOptions,
  ValidationRule,
  Field,
  Fields,
  ValueOf,
  DefaultedField,
  JsonValue,
  EmbeddedObject,
} from './kind/schema.ts'

// # Conditions

export { conditionsField, setCondition } from './run/conditions.ts'
export type { Condition, ConditionChange, ConditionStatus } from './run/conditions.ts'
export { setPassCondition, removePassCondition, reportFaults } from './run/level/report-faults.ts'
export type { ReportOptions, ReportingPass } from './run/level/report-faults.ts'

// # Level mode

export { addPlans, declareLevel, defineLevel } from './run/level/define-level.ts'
export type { LevelDefinition, LevelTarget, LevelController, LevelDeclaration, Gone } from './run/level/define-level.ts'
export type { LevelSettings, RetryLimits } from './run/level/level-settings.ts'
export type { LevelPass, StatusOf } from './run/level/level-pass.ts'
export type { ClockReading } from './run/level/latest-time.ts'
export type { Subject, By } from './run/subject.ts'

// # Writes

export type {
  LevelActs,
  WantedObject,
  Wanted,
  WantedMeta,
  ObservedObject,
  ObjectPatch,
  ApplyOptions,
  CreateOptions,
  PatchOptions,
  Ownership,
  TargetEvent,
} from './run/level/level-pass.ts'
export type { DeclaredWrite, WrittenKind } from './run/level/declared-writes.ts'
export { secretRef, secretText, SecretValue } from './run/level/secret-values.ts'

// # Own activities

export { activitiesOf, ActivityError } from './run/level/own-activities.ts'
export type {
  OwnActivities,
  CallOptions,
  CallsOf,
  Answered,
  ActivityContext,
  ActionLog,
} from './run/level/own-activities.ts'

// # Queries

export type { StateQuery, QueryTemplate } from './run/level/query.ts'

// # Internal

// ## Controllers in job mode: jobs, phases, dry runs, hosted children, background work

export type { JobStatus, StatusFields, HostedResult, StatusChange, SettledTarget } from './run/job/job-status.ts'
export { isJobID, jobIDProblem, isIdle } from './run/subject.ts'
export type { ErrorReport, TargetView, TransitionMark } from './run/subject.ts'
export { levelMode, requestedRunOf } from './run/controller.ts'
export type {
  Controller,
  InputSource,
  JobInputs,
  JobModeController,
  LevelModeController,
  Mode,
  JobTrigger,
  RunRequest,
} from './run/controller.ts'
export { BEGIN_OPERATION, GONE, FINALIZER_ADDED, HANDED_DOWN, SUPERSEDED } from './run/job/job.ts'
export type {
  JobController,
  JobInput,
  NewJobTarget,
  JobPass,
  JobPlan,
  JobState,
  Phase,
  StatusDraft,
  StepController,
  StepPass,
  ShownJob,
  HostedProgress,
} from './run/job/job.ts'
export { jobIDsOf, isJobReplaced, isJobIDInvalid, INVALID_JOB_ID } from './run/routes.ts'
export { dryRunPhases } from './run/job/dry-run.ts'
export type { DryRunRequest, DryRunJob, DryRunItem } from './run/job/dry-run.ts'
export { statusChange } from './run/job/settle.ts'
export type { SettleActivities, ChildChange, SettleInput, SettleResult } from './run/job/settle.ts'
export type { BackgroundActivities, StateChange } from './run/job/background-activities.ts'

// ## Events, subscriptions and index keys

export { routeEvent } from './run/routes.ts'
export type { ControllerRoutes, Route, RoutedEvent, Routing, WatchedKind } from './run/routes.ts'
export { isSameFields, isWatched, levelKinds, levelRoutes, subscriptionsOf } from './run/level/level-routes.ts'
export type { LevelSubscription } from './run/level/level-routes.ts'
export { withIndexKeys, indexKeysOf, mayMatch } from './run/level/index-keys.ts'
export type { IndexKey, ObjectIndexKeys, IndexKeySources } from './run/level/index-keys.ts'

// ## Level mode: calls of a run to its activities, settings, own-activity calls, status changes

export { DEADLINE_EXCEEDED, SHORT_TRIES } from './run/level/level-activities.ts'
export type {
  LevelActivities,
  LevelJournal,
  LevelInput,
  LevelQuery,
  Observed,
  ObserveInput,
  RefreshInput,
  ApplyInput,
  CreateInput,
  PatchInput,
  ReleaseInput,
  RemoveInput,
  EventInput,
  FinalizeLevelInput,
  StatusInput,
  SettleLevelInput,
  EndLevelInput,
  PermitInput,
} from './run/level/level-activities.ts'
export type { LevelResource } from './run/level/define-level.ts'
export { retryLimits, DEFAULT_RETRIES, LONGEST_REFILL_MS } from './run/level/level-settings.ts'
export { MOST_CALL_BYTES, ownActivityName } from './run/level/own-activities.ts'
export type { OwnCallInput } from './run/level/own-activities.ts'
export { statusPatch, applyStatusPatch, mergeConditions } from './run/level/status-patch.ts'
export type { StatusPatch, ConditionEntry } from './run/level/status-patch.ts'

// ## Secret placeholders, declared writes, and the owner of an object

export { takeSecrets, renderSecretRefs } from './run/level/secret-values.ts'
export type { SecretGap, SecretKey, WithSecrets } from './run/level/secret-values.ts'
export { checkWritePlace, mayOwnByLabel, couldOwnByLabel, writesFor } from './run/level/declared-writes.ts'
export type { WritePlace } from './run/level/declared-writes.ts'
export {
  isChildOf,
  ownerReferenceOf,
  ownerOfKind,
  OWNER_UID_LABEL,
  OWNER_ANNOTATION,
  OWNERSHIP_LABEL_PATHS,
  ownerAnnotation,
  ownershipLabelsOf,
  labelledOwner,
} from './run/owners.ts'
export type { Owner, LabelledOwner } from './run/owners.ts'
export type { OwnedFields } from './run/controller.ts'

// ## Queries and kinds: `Widget.example.com`, `Pod`

export {
  selectionOf,
  fillTemplate,
  narrowSelections,
  selectionsOf,
  uniqueSelections,
  isObjectName,
} from './run/level/query.ts'
export type { Narrowed, Selection, QueryData } from './run/level/query.ts'
export { labelSelectorText } from './run/level/label-selector.ts'
export { pickFields } from './run/level/pick-fields.ts'
export { isWithoutNamespace, groupKindOf, groupKindText, isSameGroupKind } from './kind/group-kind.ts'
export type { GroupKind } from './kind/group-kind.ts'
export { isSameKind, resourceOf } from './run/level/define-level.ts'
export { checkJobQueries, jobQueryProblem } from './run/job/job-query.ts'

// ## The schema of each version of a kind, and the fields that the journal stores

export { openApiSchema, versionsOf } from './kind/kind.ts'
export type { Flow } from './kind/kind.ts'
export type { JsonSchema } from './kind/schema.ts'
export type { DescribedVersion } from './kind/versions.ts'
export { valueAt, textAt, projectObject, CONTENT, hashedContent, canonicalJson } from './kind/projection.ts'
export type { Projection } from './kind/projection.ts'

// ## JSON without loss of digits, durations, user input of unknown shape, texts in messages and Markdown

export { readJson, writeJson, exactInteger, NumberRangeError } from './kind/exact-json.ts'
export { parseDuration } from './kind/duration.ts'
export { durationText } from './plan/duration-text.ts'
export { nearest, nearMisses } from './kind/near-words.ts'
export { fieldsOf, isFields, listOf, textOf, hasField } from './kind/json-fields.ts'
export type { JsonFields } from './kind/json-fields.ts'
export { shortenList, joinNames } from './kind/shorten-list.ts'
export { tableLines } from './kind/table-lines.ts'
export { inlineCode, codeBlock } from './run/temporal-ui.ts'

// ## Declaration of a wing: flags, rights, webhook names, health reports, metrics

export type {
  Wing,
  Flag,
  FlagTable,
  FlagValue,
  FlagValues,
  AccessRule,
  WingAdmission,
  ReviewCounters,
  StatusReports,
  HealthReport,
  ProblemReport,
  ReportResource,
  MetricTable,
  MetricDeclaration,
  MetricsSource,
  MetricsObserver,
  MetricLabels,
  StatsdEnvironment,
} from './run/wing.ts'
export {
  BRIDGE_METRICS,
  CERTIFICATE_METRICS,
  ENGINE_METRICS,
  JOURNAL_METRICS,
  PROCESS_METRICS,
  WORKER_METRICS,
} from './run/metrics.ts'

// ## Admission rules and mutations

export { problemText } from './run/admission.ts'
export type {
  Admission,
  AdmissionOperation,
  AdmissionRequest,
  Problem,
  Mutation,
  WriteFilter,
  AnnotationFilter,
  AdmissionKind,
  FieldChange,
  MetadataRules,
  AsyncRules,
  AsyncRulesModule,
  AsyncRequest,
  AsyncRulesContext,
  ObjectReader,
  ReadOptions,
} from './run/admission.ts'

// ## Notifications outside the cluster

export { NOTIFICATION_RUN } from './run/notification.ts'
export type { Notification, NotificationTries, UnsentNotification, NotificationActivities } from './run/notification.ts'

// ## Partitions, workflow IDs, reports of bugs, and reports to a replay

export { partitionOf, isPartitionHandled } from './run/partitions.ts'
export type { Partitions, HandledPartitions } from './run/partitions.ts'
export { workflowIDOf, controllerInID } from './run/subject.ts'
export { REPLAY_QUEUE } from './run/sinks.ts'
export type { RunSinks, ReportedBug, ReplayEntry, ReplayCall, ReplayFailure, ReplaySinks } from './run/sinks.ts'
export { BUG_REMEDY, bugCondition, bugPrefix, bugReportIn, withoutBugRemedy } from './run/bug-condition.ts'

// ## What the status of an object means, for the command line

export type { DeployedObject, ExplainStatus, StatusExplanation } from './run/explain-status.ts'

// ## Dependencies: cycles, the next nodes, unknown names

export { findCycle, classifyForward, classifyBackward, nodeDefects } from './plan/graph.ts'
export type { Node, NodeState, NodeClasses, NodeDefect } from './plan/graph.ts'

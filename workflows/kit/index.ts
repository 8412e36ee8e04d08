// The kit's public API, names spelled out. Free of Temporal, so that CLI, console and unit tests can use it;
// run/loop/index.ts exports the part that needs Temporal, for workflow.ts files.

export {
  again,
  done,
  fail,
  interrupts,
  isDone,
  joinOutcomes,
  later,
  retryLater,
  stop,
  wishedMs,
} from './plan/outcome.ts'
export type { Fault, FaultCondition, Outcome } from './plan/outcome.ts'
export { action, nop, runStep } from './plan/step.ts'
export type { Step, StepHooks } from './plan/step.ts'
export type { Runtime } from './plan/step.ts'
export { always, join, joinOrdered, orElse, parallelJoin, retry, sequential, timeout, when } from './plan/combine.ts'
export type { RetryOptions } from './plan/combine.ts'
export { lastAction } from './plan/step.ts'
export type { LastAction } from './plan/step.ts'
export { checkedPlan } from './plan/step.ts'
export { BEFORE_END, describe, phasesToMermaid, toJson, toMermaid } from './plan/describe.ts'
export type { DrawnPhases, DrawnStep, PlanJson } from './plan/describe.ts'
export { describeTrace, recordSteps, traceToMermaid } from './plan/trace.ts'
export type { StepMark, StepRecorder, TracedStep } from './plan/trace.ts'

export { defineKind, openApiSchema, versionsOf } from './kind/kind.ts'
export type { Kind, KindDefinition, ObjectMeta, ObjectOf, OwnerReference, Scope, WorkerVerb } from './kind/kind.ts'
export type { PrinterColumn } from './kind/versions.ts'
export {
  anyJson,
  bytes,
  decimal,
  anyMap,
  embedded,
  flag,
  int64,
  integer,
  intOrString,
  list,
  mapOf,
  oneOf,
  record,
  required,
  text,
  timestamp,
} from './kind/schema.ts'
export type {
  DefaultedField,
  EmbeddedObject,
  Field,
  FieldOptions,
  Fields,
  IntOrStringOptions,
  JsonSchema,
  JsonValue,
  ListOptions,
  MapOptions,
  NumberOptions,
  TextOptions,
  ValidationRule,
  ValueOf,
} from './kind/schema.ts'
export type { DescribedVersion, KindVersion } from './kind/versions.ts'
export {
  annotation,
  canonicalJson,
  CONTENT,
  hashedContent,
  label,
  path,
  projectObject,
  textAt,
  valueAt,
} from './kind/projection.ts'
export { contentHash } from './kind/content-hash.ts'
export { exactInteger, NumberRangeError, readJson, writeJson } from './kind/exact-json.ts'
export { parseDuration } from './kind/duration.ts'
export { fieldsOf, hasField, isFields, listOf, textOf } from './kind/json-fields.ts'
export type { JsonFields } from './kind/json-fields.ts'
export { joinNames, shortenList } from './kind/shorten-list.ts'
export { nearMisses } from './kind/near-words.ts'
export type { OwnedFields } from './run/controller.ts'
export type { Flow } from './kind/kind.ts'
export type { Path, Projection } from './kind/projection.ts'
export { conditionsField, setCondition } from './run/conditions.ts'
export type { Condition, ConditionChange, ConditionStatus } from './run/conditions.ts'
export { bugCondition, bugPrefix, bugReportIn } from './run/bug-condition.ts'
export { removePassCondition, reportFaults, setPassCondition } from './run/level/report-faults.ts'
export type { ReportingPass, ReportOptions } from './run/level/report-faults.ts'

export { isChildOf, ownerOfKind, ownerReferenceOf } from './run/owners.ts'
export type { Owner } from './run/owners.ts'
export { isJobID, jobIDProblem } from './run/subject.ts'
export { isJobIDInvalid, isJobReplaced, jobIDsOf, INVALID_JOB_ID, routeEvent } from './run/routes.ts'
export type { ControllerRoutes, Route, RoutedEvent, Routing, WatchedKind } from './run/routes.ts'

export { BEGIN_OPERATION, GONE, FINALIZER_ADDED, HANDED_DOWN, SUPERSEDED } from './run/job/job.ts'
export { isIdle } from './run/subject.ts'
export type { By, ErrorReport, Subject, TargetView, TransitionMark } from './run/subject.ts'
export type { HostedResult, SettledTarget, StatusChange } from './run/job/job-status.ts'
export type { JobStatus, StatusFields } from './run/job/job-status.ts'
export type {
  NewJobTarget,
  HostedProgress,
  JobController,
  JobInput,
  JobPass,
  JobPlan,
  JobState,
  Phase,
  ShownJob,
  StatusDraft,
  StepController,
  StepPass,
} from './run/job/job.ts'
export { isPartitionHandled, partitionOf } from './run/partitions.ts'
export type { Partitions, HandledPartitions } from './run/partitions.ts'
export { dryRunPhases } from './run/job/dry-run.ts'
export type { DryRunRequest, DryRunItem, DryRunJob } from './run/job/dry-run.ts'
export { levelMode, requestedRunOf } from './run/controller.ts'
export type {
  Controller,
  JobModeController,
  LevelModeController,
  Mode,
  JobTrigger,
  RunRequest,
} from './run/controller.ts'
export type {
  Admission,
  AdmissionOperation,
  AdmissionRequest,
  AnnotationFilter,
  AdmissionKind,
  WriteFilter,
  FieldChange,
  AsyncRulesContext,
  AsyncRequest,
  AsyncRules,
  AsyncRulesModule,
  MetadataRules,
  Mutation,
  ObjectReader,
  Problem,
  ReadOptions,
} from './run/admission.ts'
export { problemText } from './run/admission.ts'
export type {
  AccessRule,
  Flag,
  FlagTable,
  FlagValue,
  FlagValues,
  HealthReport,
  ProblemReport,
  ReviewCounters,
  ReportResource,
  Wing,
  WingAdmission,
  StatusReports,
} from './run/wing.ts'
export { ActivityError, activitiesOf, MOST_CALL_BYTES, ownActivityName } from './run/level/own-activities.ts'
export type {
  ActionLog,
  ActivityContext,
  Answered,
  CallOptions,
  CallsOf,
  OwnActivities,
  OwnCallInput,
} from './run/level/own-activities.ts'
export type {
  MetricDeclaration,
  MetricLabels,
  MetricsObserver,
  MetricsSource,
  MetricTable,
  StatsdEnvironment,
} from './run/wing.ts'
export { NOTIFICATION_RUN } from './run/notification.ts'
export type { Notification, NotificationActivities, NotificationTries, UnsentNotification } from './run/notification.ts'
export type { JsonObject, LevelPass } from './run/level/level-pass.ts'
export type { ClockReading } from './run/level/latest-time.ts'
export type {
  ApplyOptions,
  CreateOptions,
  LevelActs,
  ObjectPatch,
  ObservedObject,
  Ownership,
  PatchOptions,
  StatusOf,
  TargetEvent,
  Wanted,
  WantedMeta,
  WantedObject,
} from './run/level/level-pass.ts'
export { couldOwnByLabel, mayOwnByLabel, writesFor, checkWritePlace } from './run/level/declared-writes.ts'
export type { WritePlace } from './run/level/declared-writes.ts'
export {
  OWNER_ANNOTATION,
  ownerAnnotation,
  OWNERSHIP_LABEL_PATHS,
  labelledOwner,
  ownershipLabelsOf,
  OWNER_UID_LABEL,
} from './run/owners.ts'
export type { LabelledOwner } from './run/owners.ts'
export { secretRef, secretText, SecretValue, takeSecrets, renderSecretRefs } from './run/level/secret-values.ts'
export type { SecretGap, SecretKey, WithSecrets } from './run/level/secret-values.ts'
export { mergeConditions, statusPatch, applyStatusPatch } from './run/level/status-patch.ts'
export type { StatusPatch, ConditionEntry } from './run/level/status-patch.ts'
export { defineLevel, isSameKind, resourceOf } from './run/level/define-level.ts'
export type { DeclaredWrite, WrittenKind } from './run/level/declared-writes.ts'
export { DEFAULT_RETRIES, LONGEST_REFILL_MS, retryLimits } from './run/level/level-settings.ts'
export type { LevelSettings, RetryLimits } from './run/level/level-settings.ts'
export type { Gone, LevelController, LevelDefinition, LevelResource, LevelTarget } from './run/level/define-level.ts'
export { DEADLINE_EXCEEDED, SHORT_TRIES } from './run/level/level-activities.ts'
export type {
  ApplyInput,
  CreateInput,
  EndLevelInput,
  EventInput,
  FinalizeLevelInput,
  LevelActivities,
  LevelInput,
  LevelJournal,
  LevelQuery,
  Observed,
  ObserveInput,
  PatchInput,
  RefreshInput,
  ReleaseInput,
  RemoveInput,
  SettleLevelInput,
  StatusInput,
  PermitInput,
} from './run/level/level-activities.ts'
export { isSameFields, levelKinds, levelRoutes, subscriptionsOf } from './run/level/level-routes.ts'
export type { LevelSubscription } from './run/level/level-routes.ts'
export { mayMatch, indexKeysOf, withIndexKeys } from './run/level/index-keys.ts'
export type { IndexKey, ObjectIndexKeys, IndexKeySources } from './run/level/index-keys.ts'
export { groupKindOf, groupKindText, isSameGroupKind } from './kind/group-kind.ts'
export type { GroupKind } from './kind/group-kind.ts'
export { isWithoutNamespace } from './kind/group-kind.ts'
export { checkJobQueries, jobQueryProblem } from './run/job/job-query.ts'
export { labelSelectorText } from './run/level/label-selector.ts'
export { pickFields } from './run/level/pick-fields.ts'
export {
  uniqueSelections,
  fillTemplate,
  isObjectName,
  narrowSelections,
  selectionOf,
  selectionsOf,
} from './run/level/query.ts'
export type { Narrowed, QueryData, QueryTemplate, Selection, StateQuery } from './run/level/query.ts'
export type { RunSinks, ReportedBug } from './run/sinks.ts'
export { REPLAY_QUEUE } from './run/sinks.ts'
export type { ReplayEntry, ReplayCall, ReplayFailure, ReplaySinks } from './run/sinks.ts'
export type { StateChange, BackgroundActivities } from './run/job/background-activities.ts'
export { statusChange } from './run/job/settle.ts'
export { inlineCode, codeBlock } from './run/temporal-ui.ts'
export { controllerInID, workflowIDOf } from './run/subject.ts'
export type { ChildChange, SettleActivities, SettleInput, SettleResult } from './run/job/settle.ts'
export { classifyBackward, classifyForward, findCycle, nodeDefects } from './plan/graph.ts'
export type { Node, NodeClasses, NodeDefect, NodeState } from './plan/graph.ts'

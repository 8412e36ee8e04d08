// The kit's public API, names spelled out. Free of Temporal, so that CLI, console and unit tests can use it;
// what needs Temporal is in run/loop/, of which workflow.ts files import the index.

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
export type { Runtime } from './plan/runtime.ts'
export { always, join, joinOrdered, orElse, parallelJoin, retry, sequential, timeout, when } from './plan/combine.ts'
export type { RetryOptions } from './plan/combine.ts'
export { lastAction } from './plan/last.ts'
export type { LastAction } from './plan/last.ts'
export { checkedPlan } from './plan/guard.ts'
export { BEFORE_END, describe, phasesToMermaid, toJson, toMermaid } from './plan/describe.ts'
export type { DrawnPhases, DrawnStep, PlanJson } from './plan/describe.ts'
export { describeTrace, recordSteps, traceToMermaid } from './plan/trace.ts'
export type { StepMark, StepRecorder, TracedStep } from './plan/trace.ts'

export { defineKind, openApiSchema, versionsOf } from './kind/kind.ts'
export type { Kind, KindDefinition, ObjectMeta, ObjectOf, OwnerReference, Scope, WorkerVerb } from './kind/kind.ts'
export type { PrinterColumn } from './kind/printer-column.ts'
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
export { fieldsOf, hasField, listOf, textOf } from './kind/json-fields.ts'
export type { JsonFields } from './kind/json-fields.ts'
export { nearMisses } from './kind/near-words.ts'
export type { OwnedFields } from './kind/fields.ts'
export type { Flow } from './kind/flow.ts'
export type { Path, Projection } from './kind/projection.ts'
export { conditionsField, setCondition } from './run/conditions.ts'
export type { Condition, ConditionChange, ConditionStatus } from './run/conditions.ts'
export { removePassCondition, reportFaults, setPassCondition } from './run/report-faults.ts'
export type { ReportingPass, ReportOptions } from './run/report-faults.ts'

export { isChildOf, ownerOfKind, ownerReferenceOf } from './run/owners.ts'
export type { Owner } from './run/owners.ts'
export { isJobID, jobIDProblem } from './run/job-id.ts'
export { isJobIDRefused, isJobTaken, jobIDsOf, REFUSED_ID, routeEvent } from './run/routes.ts'
export type { ControllerRoutes, Route, RoutedEvent, Routing, WatchedKind } from './run/routes.ts'

export { BEGIN_OPERATION, GONE, GUARDED, HANDED_DOWN, SUPERSEDED } from './run/job.ts'
export { isIdle } from './run/subject.ts'
export type { By, ErrorReport, Subject, TargetView, TransitionMark } from './run/subject.ts'
export type { HostedEnd, SettledTarget, StatusChange } from './run/status-change.ts'
export type { JobStatus, StatusFields } from './run/job-status.ts'
export type {
  AskingTarget,
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
} from './run/job.ts'
export { isLaneServed, laneOf } from './run/lanes.ts'
export type { Lanes, Serving } from './run/lanes.ts'
export { runPhases } from './run/foresee.ts'
export type { Foreseeing, ForeseenItem, ForeseenJob } from './run/foresee.ts'
export { levelMode, wantedOf } from './run/controller.ts'
export type {
  Controller,
  JobModeController,
  LevelModeController,
  Mode,
  TriggerMark,
  WantedRun,
} from './run/controller.ts'
export type {
  Admission,
  AdmissionOperation,
  AdmissionRequest,
  AskedAnnotation,
  AskedKind,
  AskedWrites,
  FieldChange,
  FurtherContext,
  FurtherRequest,
  FurtherRules,
  FurtherRulesModule,
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
  TellingHealth,
  TellingProblem,
  ReviewCounters,
  TellingResource,
  Wing,
  WingAdmission,
  WingTells,
} from './run/wing.ts'
export { ActivityError, activitiesOf, MOST_CALL_BYTES, ownActivityName } from './run/own-activities.ts'
export type {
  ActionLog,
  ActivityContext,
  Answered,
  CallOptions,
  CallsOf,
  OwnActivities,
  OwnCallInput,
} from './run/own-activities.ts'
export type {
  MetricDeclaration,
  MetricLabels,
  MetricsHearer,
  MetricsSource,
  MetricTable,
  StatsdEnvironment,
} from './run/metrics.ts'
export { NOTICE_RUN } from './run/notice.ts'
export type { Notice, NoticeActivities, NoticeTries, UnsentNotice } from './run/notice.ts'
export type { JsonObject, LevelPass } from './run/level.ts'
export type { ClockReading } from './run/latest.ts'
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
} from './run/level-acts.ts'
export { couldBeMarked, mayBeMarked, writesFor, writeVerdict } from './run/write-places.ts'
export type { WritePlace } from './run/write-places.ts'
export { MADE_FOR, madeFor, MARK_PATHS, markedPlace, marksOf, OWNER_UID } from './run/marks.ts'
export type { MarkedOwner } from './run/marks.ts'
export { secretRef, secretText, SecretValue, takeSecrets, tellSecrets } from './run/secret-values.ts'
export type { SecretGap, SecretKey, WithSecrets } from './run/secret-values.ts'
export { mergeConditions, statusNews, withNews } from './run/status-draft.ts'
export type { StatusNews, TypedEntry } from './run/status-draft.ts'
export { defineLevel, isSameKind, resourceOf } from './run/define-level.ts'
export type { DeclaredWrite, WrittenKind } from './run/declared-writes.ts'
export { DEFAULT_RETRIES, LONGEST_REFILL_MS, retryLimits } from './run/level-settings.ts'
export type { LevelSettings, RetryLimits } from './run/level-settings.ts'
export type { Gone, LevelController, LevelDefinition, LevelResource, LevelTarget } from './run/define-level.ts'
export { CUT_OFF, SHORT_TRIES } from './run/level-activities.ts'
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
  TurnInput,
} from './run/level-activities.ts'
export { isSameFields, levelKinds, levelRoutes, subscriptionsOf } from './run/level-routes.ts'
export type { LevelSubscription } from './run/level-routes.ts'
export { mayHave, traitsIn, withTraits } from './run/traits.ts'
export type { Trait, Traits, TraitSources } from './run/traits.ts'
export { groupKindOf, groupKindText, isSameGroupKind } from './kind/group-kind.ts'
export type { GroupKind } from './kind/group-kind.ts'
export { isWithoutNamespace } from './kind/kubernetes-plurals.ts'
export { checkJobQueries, jobQueryProblem } from './run/job-query.ts'
export { labelSelectorText } from './run/label-selector.ts'
export { pickFields } from './run/pick-fields.ts'
export { eachOnce, fillTemplate, isObjectName, narrowedTo, selectionOf, selectionsOf } from './run/query.ts'
export type { Narrowed, QueryData, QueryTemplate, Selection, StateQuery } from './run/query.ts'
export type { RunSinks, Thrown } from './run/thrown.ts'
export { REPLAY_QUEUE } from './run/recorded.ts'
export type { Recorded, RecordedCall, RecordedFailure, RecordingSinks } from './run/recorded.ts'
export type { Change, Tracks } from './run/tracks.ts'
export { statusChange } from './run/settle.ts'
export { quoted, quotedLines } from './run/markdown.ts'
export { controllerInID, workflowIDOf } from './run/workflow-id.ts'
export type { ChildChange, SettleActivities, SettleInput, SettleResult } from './run/settle.ts'
export { classifyBackward, classifyForward, findCycle, nodeDefects } from './plan/graph.ts'
export type { Node, NodeClasses, NodeDefect, NodeState } from './plan/graph.ts'

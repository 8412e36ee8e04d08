// The kit's public API, names spelled out. Free of Temporal, so that CLI, console and unit tests can use it;
// what needs Temporal is in temporal.ts and reconcile-loop.ts, which only workflow.ts files import.

export { again, done, fail, interrupts, joinOutcomes, retryLater, stop } from './outcome.ts'
export type { Fault, Outcome } from './outcome.ts'
export { action, nop, runStep } from './step.ts'
export type { Step, StepHooks } from './step.ts'
export type { Runtime } from './runtime.ts'
export { always, join, joinOrdered, orElse, parallelJoin, retry, sequential, timeout, when } from './combine.ts'
export type { RetryOptions } from './combine.ts'
export { checkedPlan, isJobID, jobIDProblem } from './guard.ts'
export { describe, phasesToMermaid, toJson, toMermaid } from './describe.ts'
export type { DrawnPhases, DrawnStep, PlanJson } from './describe.ts'

export { defineKind, ERROR_COLUMN, WAITING_COLUMN, openApiSchema } from './kind.ts'
export type { Kind, KindDefinition, ObjectMeta, ObjectOf, OwnerReference, PrinterColumn, WorkerVerb } from './kind.ts'
export {
  anyJson,
  bytes,
  decimal,
  embedded,
  flag,
  int64,
  integer,
  list,
  mapOf,
  oneOf,
  record,
  required,
  text,
  timestamp,
} from './schema.ts'
export type { EmbeddedObject, Field, Fields, JsonSchema, JsonValue, ValueOf } from './schema.ts'
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
} from './projection.ts'
export type { OwnedFields } from './fields.ts'
export type { Path, Projection } from './projection.ts'
export { conditionsField, errorField, nextError, setCondition } from './conditions.ts'
export type { Condition, ConditionChange, ConditionStatus, ErrorReport, LastError } from './conditions.ts'

export { isJobTaken, jobIDsOf, ownerOfKind, routeEvent } from './routes.ts'
export type { ControllerRoutes, Route, RoutedEvent, Routing, WatchedKind } from './routes.ts'

export { GONE, isIdle, SUPERSEDED } from './job.ts'
export type {
  By,
  JobController,
  JobInput,
  JobPass,
  JobPlan,
  JobState,
  Phase,
  StatusDraft,
  Subject,
  TargetView,
  TransitionMark,
  GroupController,
  GroupPass,
} from './job.ts'
export type { JsonObject, LevelActs, LevelPass, ObservedObject, WantedObject } from './level.ts'
export { defineLevel, isSameKind } from './define-level.ts'
export type { LevelController, LevelDefinition, LevelResource, LevelTarget } from './define-level.ts'
export type {
  ApplyInput,
  EndLevelInput,
  FinalizeLevelInput,
  LevelActivities,
  LevelJournal,
  LevelQuery,
  Observed,
  ObserveInput,
  RefreshInput,
  RemoveInput,
  SettleLevelInput,
  StatusInput,
} from './level-activities.ts'
export { levelKinds, levelRoutes, subscriptionOf } from './level-routes.ts'
export type { LevelSubscription } from './level-routes.ts'
export { isWithoutNamespace } from './kubernetes-plurals.ts'
export { isObjectName, selectionOf } from './query.ts'
export type { QueryTemplate, Selection, StateQuery } from './query.ts'
export type { Change, Tracks } from './tracks.ts'
export { statusChange } from './settle.ts'
export type { SettleActivities, SettledTarget, SettleInput, SettleResult, StatusChange } from './settle.ts'
export { findCycle } from './graph.ts'
export type { Node } from './graph.ts'

// Inputs and results of the activities in level mode; activities/run/level/ implements them. Field names and activity names are part of recorded
// histories.

import type { LevelResource, SentTarget } from './define-level.ts'
import type { ClockReading } from './latest-time.ts'
import type { By, Subject } from '../subject.ts'
import type { JsonObject, ObjectPatch, ObservedObject, Ownership, TargetEvent, WantedObject } from './level-pass.ts'
import type { Narrowed, QueryData } from './query.ts'
import type { SecretGap } from './secret-values.ts'
import type { Fault } from '../../plan/outcome.ts'
import type { ConditionEntry } from './status-patch.ts'
import type { JsonValue } from '../../kind/schema.ts'

/** The maximum number of tries of a short call. */
export const SHORT_TRIES = 4

/** Failure type of a call that exceeded its step's deadline. Its step has expired, so no pass reports it. */
export const DEADLINE_EXCEEDED = 'CutOff'

export interface LevelQuery extends LevelResource {
  readonly query: QueryData
}

export interface LevelInput {
  readonly by: By
  readonly subject: Subject
  readonly target: SentTarget
  /** Events to record before the call takes effect; absent: none. */
  readonly told?: readonly LevelEvent[]
}

/** An Event and its source; default: the field manager. */
export interface LevelEvent {
  readonly event: TargetEvent
  readonly source?: string
}

export interface ObserveInput extends LevelInput {
  readonly queries: Readonly<Record<string, LevelQuery>>
  /** Also return a deleted target. */
  readonly evenGone?: true
}

export interface Observed {
  /** A deleted target has apiVersion, kind and identifying metadata only. */
  readonly target: JsonObject
  readonly isGone?: true
  /** By query name; a query without result is missing. */
  readonly states: Readonly<Record<string, unknown>>
  /** Faults of states that could not be read, by query name; absent: none. */
  readonly unreadable?: Readonly<Record<string, Fault>>
  /** The wing's settings for passes; absent: none. */
  readonly wing?: JsonValue
  /** Clocks at the observation; absent in results of earlier releases. */
  readonly clocks?: ClockReading
}

export interface RefreshInput extends LevelInput {
  /** The target's resourceVersion in the pass; absent in inputs of earlier releases. */
  readonly version?: string
  /** The target was deleted before the pass. */
  readonly isGone?: true
  readonly state: string
  readonly query: LevelQuery
  readonly narrowed?: Narrowed
}

export interface CreateInput extends LevelInput {
  readonly resource: LevelResource
  readonly object: WantedObject
  /** Places of Secret values in the object. */
  readonly gaps?: readonly SecretGap[]
  readonly owner?: Ownership
  /** The controller declares writes there: in another namespace, or to a cluster-scoped kind. */
  readonly elsewhere?: true
}

export interface ApplyInput extends CreateInput {
  readonly adopt?: true
  /** Precondition: the uid and resourceVersion of the object. */
  readonly expected?: ObservedObject
}

export interface PatchInput extends LevelInput {
  readonly resource: LevelResource
  readonly object: ObservedObject
  readonly patch: ObjectPatch
  readonly gaps?: readonly SecretGap[]
  readonly fenced: boolean
}

export interface ReleaseInput extends LevelInput {
  readonly resource: LevelResource
  readonly object: ObservedObject
  readonly finalizer: string
}

export interface EventInput extends LevelInput, LevelEvent {}

export interface RemoveInput extends LevelInput {
  readonly resource: LevelResource
  readonly object: ObservedObject
}

export interface FinalizeLevelInput extends LevelInput {
  /** The observed resourceVersion. */
  readonly version: string
  readonly finalizer: string
  readonly guarded: boolean
}

export interface StatusInput extends LevelInput {
  readonly version: string
  /** Changed fields only, each as a whole. */
  readonly status: Readonly<Record<string, JsonValue>>
  /** Changed conditions only, by type; absent in inputs of earlier releases. */
  readonly conditions?: readonly ConditionEntry[]
}

export interface SettleLevelInput extends LevelInput {
  /** Like `SettleInput`. */
  readonly againMs: number | undefined
  readonly attempt: number
  readonly isOutside?: true
  readonly fault: { readonly reason: string; readonly message: string } | undefined
}

export interface EndLevelInput extends LevelInput {
  /** The first run of the continue-as-new chain. */
  readonly firstRunID: string
  readonly cause: string
  readonly outcome: string
}

export interface PermitInput {
  readonly by: By
  readonly subject: Subject
}

export interface LevelActivities {
  observeLevel(input: ObserveInput): Promise<Observed | undefined>
  /** Without `found` when nothing was selected. */
  refreshLevel(input: RefreshInput): Promise<{ readonly found?: unknown }>
  /** 'changed': the precondition failed. Histories of earlier releases have no result. */
  applyLevel(input: ApplyInput): Promise<'applied' | 'changed'>
  createLevel(input: CreateInput): Promise<'created' | 'exists'>
  /** 'changed': another object has the name, or a fenced patch found another version. */
  patchLevel(input: PatchInput): Promise<'patched' | 'changed'>
  /** 'gone': it was the object's last finalizer. Histories of earlier releases have no result. */
  releaseLevel(input: ReleaseInput): Promise<'released' | 'gone'>
  eventLevel(input: EventInput): Promise<void>
  removeLevel(input: RemoveInput): Promise<'removed' | 'changed'>
  /** The current target; undefined when it was deleted. */
  finalizeLevel(input: FinalizeLevelInput): Promise<JsonObject | undefined>
  /** The target's new resourceVersion; undefined when it was deleted. */
  writeLevelStatus(input: StatusInput): Promise<string | undefined>
}

export interface LevelJournal {
  /** Called before each pass of controllers with `settings.passes`: acquires a permit. Without permit the run is woken when one is free. */
  takeTurn(input: PermitInput): Promise<boolean>
  settleLevel(input: SettleLevelInput): Promise<void>
  endLevel(input: EndLevelInput): Promise<void>
}

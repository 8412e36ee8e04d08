// What a run in level mode asks of the world, as data: the activities of activities/run/level/ implement it.

import type { LevelResource, SentTarget } from './define-level.ts'
import type { ClockReading } from './latest-time.ts'
import type { By, Subject } from '../subject.ts'
import type { JsonObject, ObjectPatch, ObservedObject, Ownership, TargetEvent, WantedObject } from './level-pass.ts'
import type { Narrowed, QueryData } from './query.ts'
import type { SecretGap } from './secret-values.ts'
import type { Fault } from '../../plan/outcome.ts'
import type { ConditionEntry } from './status-patch.ts'
import type { JsonValue } from '../../kind/schema.ts'

/** How often a short call is tried at most. */
export const SHORT_TRIES = 4

/** The failure of a call whose time was over before it had done what it was asked to. Nobody sees it: its step has expired. */
export const DEADLINE_EXCEEDED = 'CutOff'

export interface LevelQuery extends LevelResource {
  readonly query: QueryData
}

export interface LevelInput {
  readonly by: By
  readonly subject: Subject
  readonly target: SentTarget
  /** What is told before the call does what it is asked to; absent: nothing. */
  readonly told?: readonly LevelEvent[]
}

/** An event, and who says so; absent: the field manager. */
export interface LevelEvent {
  readonly event: TargetEvent
  readonly source?: string
}

export interface ObserveInput extends LevelInput {
  readonly queries: Readonly<Record<string, LevelQuery>>
  /** Also where the target is gone. */
  readonly evenGone?: true
}

export interface Observed {
  /** Of one that is gone what names it. */
  readonly target: JsonObject
  readonly isGone?: true
  /** By the name of the query; one that found nothing is missing. */
  readonly states: Readonly<Record<string, unknown>>
  /** What the actions that ask for a state are told, by the name of the query; absent: all could be read. */
  readonly unreadable?: Readonly<Record<string, Fault>>
  /** What the controller's wing is told by its flags, for passes; absent: nothing. */
  readonly wing?: JsonValue
  /** When it was observed; absent in the answers of former workers. */
  readonly clocks?: ClockReading
}

export interface RefreshInput extends LevelInput {
  /** Of the target, as the pass knows it; absent in the inputs of former runs. */
  readonly version?: string
  /** It is gone, as the pass has seen. */
  readonly isGone?: true
  readonly state: string
  readonly query: LevelQuery
  readonly narrowed?: Narrowed
}

export interface CreateInput extends LevelInput {
  readonly resource: LevelResource
  readonly object: WantedObject
  /** Where values of Secrets go into the object. */
  readonly gaps?: readonly SecretGap[]
  readonly owner?: Ownership
  /** The controller declares that it writes there: outside of the target's namespace, or in none. */
  readonly elsewhere?: true
}

export interface ApplyInput extends CreateInput {
  readonly adopt?: true
  /** The only object, and its only version, that may be written. */
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
  /** The version that the pass observed. */
  readonly version: string
  readonly finalizer: string
  readonly guarded: boolean
}

export interface StatusInput extends LevelInput {
  readonly version: string
  /** Only what differs, each field as a whole. */
  readonly status: Readonly<Record<string, JsonValue>>
  /** Only those that differ, each by its type; absent in the inputs of former runs. */
  readonly conditions?: readonly ConditionEntry[]
}

export interface SettleLevelInput extends LevelInput {
  /** As in `SettleInput`. */
  readonly againMs: number | undefined
  readonly attempt: number
  readonly isOutside?: true
  readonly fault: { readonly reason: string; readonly message: string } | undefined
}

export interface EndLevelInput extends LevelInput {
  /** Of the first run of this ID that goes on in this one. */
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
  /** `found` is missing when there is nothing. */
  refreshLevel(input: RefreshInput): Promise<{ readonly found?: unknown }>
  /** 'changed': it is not as it was expected to be. Of runs that a former worker recorded the answer is nothing. */
  applyLevel(input: ApplyInput): Promise<'applied' | 'changed'>
  createLevel(input: CreateInput): Promise<'created' | 'exists'>
  /** 'changed': another object has its name, or, of a fenced patch, it has another version. */
  patchLevel(input: PatchInput): Promise<'patched' | 'changed'>
  /** 'gone': nothing else held it. Of runs that a former worker recorded the answer is nothing. */
  releaseLevel(input: ReleaseInput): Promise<'released' | 'gone'>
  eventLevel(input: EventInput): Promise<void>
  removeLevel(input: RemoveInput): Promise<'removed' | 'changed'>
  /** The target as it is now; undefined when it is gone. */
  finalizeLevel(input: FinalizeLevelInput): Promise<JsonObject | undefined>
  /** The target's new version; undefined when it is gone, or was so already. */
  writeLevelStatus(input: StatusInput): Promise<string | undefined>
}

export interface LevelJournal {
  /** Of controllers with `settings.passes`, before each pass: whether it may begin. If not, the run is woken when it may. */
  takeTurn(input: PermitInput): Promise<boolean>
  settleLevel(input: SettleLevelInput): Promise<void>
  endLevel(input: EndLevelInput): Promise<void>
}

// The pass of a controller in level mode as its actions see it, with the writes that they can make. Types only;
// generated code and users' controllers are written against them. Source: docs/concepts/architecture.md "Subjects and routes",
// spec/kit.md 8.

import type { ObjectMeta } from '../../kind/kind.ts'
import type { JsonValue } from '../../kind/schema.ts'
import type { ActionLog, OwnActivities } from './own-activities.ts'
import type { Narrowed } from './query.ts'
import type { By, Subject } from '../subject.ts'
import type { SecretValue } from './secret-values.ts'

/** A Kubernetes object as JSON. */
export interface JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** The pass of an action: the object, its states, and the calls that the action may make. */
export interface LevelPass<State, Target> {
  /** Names and uid of the object. */
  readonly subject: Subject
  /** The run and the number of the pass. */
  readonly by: By
  /** The object as observed at the start of the pass, with the changes that `save` has written. */
  readonly target: Target
  /**
   * The results of the queries at the start of the pass: a list, one object, or undefined. When a state cannot be read (no permission, missing kind,
   * two objects instead of one, too large), the actions and conditions that use it report the fault; other actions and a deletion continue.
   */
  readonly state: State
  /** Reads one state again: for `fresh` and `lazy` states, and after writes. `narrowed` reads a part of a list. */
  refresh<Name extends keyof State>(name: Name, narrowed?: Narrowed): Promise<State[Name]>
  /** The writes of the action. */
  readonly act: LevelActs
  /** The controller's own activities: `await pass.call(quotes).fetchQuote({ symbol })`. A failed call is a fault of the action. */
  readonly call: <Calls extends object>(activities: OwnActivities<Calls>) => Calls
  /** The time of the pass: the same for all of its actions and in every replay. `new Date()` is also deterministic, but advances during a pass. */
  readonly now: Date
  /**
   * The latest time by the clocks of Temporal, the database and the worker's machine, for limits that must hold although clocks are wrong or set.
   * It never decreases within a run. Use `now` for everything else.
   */
  readonly latest: Date
  /** Writes to the worker's log, with object and action; not in replays. */
  readonly log: ActionLog
  /** Changes of the target's status; the pass writes them at its end. */
  readonly status: StatusOf<Target>
  /** Writes the changes of `status` now and updates `target`: later steps can rely on them, also after a crash. */
  readonly save: () => Promise<void>
  /** For controllers of a wing: the settings that the wing read from its flags (`OpenWing.settings`), equal in every replay; otherwise undefined. */
  readonly settings: JsonValue | undefined
}

/** An object to apply: fields that are not mentioned stay unchanged, null removes a field. */
export interface WantedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: WantedMeta
  readonly [field: string]: unknown
}

/** Metadata of an object to apply; null removes a label or an annotation. */
export interface WantedMeta {
  readonly name: string
  /** Default: the target's namespace. Other namespaces must be declared (`writes`). */
  readonly namespace?: string | undefined
  readonly labels?: Readonly<Record<string, string | null>> | undefined
  readonly annotations?: Readonly<Record<string, string | null>> | undefined
  /** Added to existing finalizers; `release` removes one. */
  readonly finalizers?: readonly string[] | undefined
}

/** Like `WantedObject`, with the fields of this type. */
export type Wanted<Stored> = string extends keyof Stored
  ? WantedObject
  : { readonly apiVersion: string; readonly kind: string; readonly metadata: WantedMeta } & {
      readonly [Field in Exclude<keyof Stored, 'apiVersion' | 'kind' | 'metadata' | 'status'>]?: WantedPart<
        Stored[Field]
      > | null
    }

type WantedPart<Value> = Value extends readonly (infer Item)[]
  ? readonly WantedPart<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]?: WantedPart<Value[Field]> | null }
    : string extends Value
      ? Value | SecretValue
      : Value

/** An observed object: identifies it by uid and version, so that a write cannot hit another object of the same name. */
export interface ObservedObject {
  readonly apiVersion: string
  readonly kind: string
  /** Absent for cluster-scoped kinds. */
  readonly metadata: Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'> & Partial<Pick<ObjectMeta, 'namespace'>>
}

/** A patch of an object of another controller. Of metadata it may contain labels and annotations only, so that it cannot change the owner. */
export type ObjectPatch = Readonly<Record<string, unknown>> & {
  readonly metadata?: Pick<WantedMeta, 'labels' | 'annotations'>
}

/**
 * How the target owns a created object. `target`: by owner reference, so that Kubernetes deletes it with the target. `label`: by label and
 * annotation,
 * where owner references do not reach; `onDelete` must delete it. `none`: the object outlives the target.
 */
export type Ownership = 'target' | 'label' | 'none'

/** Options of `create`. */
export interface CreateOptions {
  /** Default: `target` where an owner reference is possible, `label` in another namespace or for cluster-scoped kinds. */
  readonly owner?: Ownership
}

/** Options of `apply`. */
export interface ApplyOptions extends CreateOptions {
  /** Take over an existing object without owner. Default: such an object is a fault. */
  readonly adopt?: boolean
  /** Write only if the object still has this uid and version; otherwise the fault `Changed`. */
  readonly expected?: ObservedObject | undefined
}

/** Options of `patch`. */
export interface PatchOptions {
  /** Write only if the object has the observed version; otherwise the fault `Changed`. Default: the observed uid is enough. */
  readonly fenced?: boolean
}

/** An Event on the target or on a related object, as in `kubectl describe`. */
export interface TargetEvent {
  readonly type: 'Normal' | 'Warning'
  /** A CamelCase word. */
  readonly reason: string
  readonly message: string
  /** Distinguishes Events with equal texts. Equal Events of one occasion are recorded once. */
  readonly occasion?: string
  /** The object of the Event, in its namespace. Default: the target. */
  readonly about?: ObservedObject
  /**
   * Annotations of the Event, for programs. At most 16 KiB with their keys; larger ones are omitted and named in the annotation `pawl.dev/left-out`.
   * Events
   * that differ only in annotations are the same Event; the first one wins.
   */
  readonly annotations?: Readonly<Record<string, string>>
}

/** The writes of an action. Each call is one idempotent activity; its failure is the action's fault. */
export interface LevelActs {
  /**
   * Applies the object, owned by the target. An existing object of the same name with another owner or without owner is a fault until it changes or
   * is
   * deleted (`OwnedByAnother`, `NotOwned`).
   */
  apply<Stored = WantedObject>(object: Wanted<NoInfer<Stored>>, options?: ApplyOptions): Promise<void>
  /** Creates the object unless the name exists. Also returns 'exists' when an earlier try of this call created it. */
  create<Stored = WantedObject>(object: Wanted<NoInfer<Stored>>, options?: CreateOptions): Promise<'created' | 'exists'>
  /** Changes fields of another controller's object, also of its status, but never its ownership. */
  patch(object: ObservedObject, patch: ObjectPatch, options?: PatchOptions): Promise<void>
  /** Deletes the observed object. Success if it does not exist; a retryable fault if it has changed. */
  remove(object: ObservedObject): Promise<void>
  /**
   * Removes a finalizer from the observed object. Success if it does not exist. @returns 'gone' when it was the last finalizer: the object was
   * deleted.
   */
  release(object: ObservedObject, finalizer: string): Promise<'released' | 'gone'>
  /** Records an Event now or with the pass's next call (`LevelSettings.events`). Equal Events are recorded once. */
  event(event: TargetEvent): Promise<void>
}

/** Changes of the status: fields of the target's type, null removes a field. */
export type StatusOf<Target> = Target extends { readonly status?: infer Status }
  ? unknown extends Status
    ? Record<string, JsonValue>
    : { -readonly [Field in keyof NonNullable<Status>]?: NonNullable<Status>[Field] | null }
  : Record<string, JsonValue>

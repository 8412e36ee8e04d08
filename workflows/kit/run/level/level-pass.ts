// The pass of a controller in level mode: a run that lives until its object has converged. Types only; generated code and the
// actions of users' controllers are written against them. Source: docs/architecture.md "Subjects and routes", spec/kit.md 8.
// MERGED What an action of a controller in level mode can do to the world, and what of its target's status it may say. Types only.

import type { ObjectMeta } from '../../kind/kind.ts'
import type { JsonValue } from '../../kind/schema.ts'
import type { ActionLog, OwnActivities } from './own-activities.ts'
import type { Narrowed } from './query.ts'
import type { By, Subject } from '../subject.ts'
import type { SecretValue } from './secret-values.ts'

/** An object as it travels. */
export interface JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface LevelPass<State, Target> {
  readonly subject: Subject
  readonly by: By
  /** The object itself, as observed at the start of the pass, with what `save` has written since. */
  readonly target: Target
  /** What the queries found at the start of the pass. */
  readonly state: State
  /** Reads one state again; for states marked `fresh` or `lazy`, and after writes. A list may be narrowed to some of what it selects. */
  refresh<Name extends keyof State>(name: Name, narrowed?: Narrowed): Promise<State[Name]>
  readonly act: LevelActs
  /** The activities of the controller: `await pass.call(quotes).fetchQuote({ symbol })`. A failure is the action's fault. */
  readonly call: <Calls extends object>(activities: OwnActivities<Calls>) => Calls
  /** The time of the pass, read once when it had looked: the same for all of its actions, and in every replay. */
  readonly now: Date
  /**
   * What time it is at the latest, by the clocks of Temporal, of the database and of the worker's machine: for what must not last longer than it may, also
   * where clocks are wrong or set (latest.ts). In a run it never goes back. For everything else there is `now`.
   */
  readonly latest: Date
  /** Lines in the worker's log, with the object and the name of the action that writes them; not in replays. */
  readonly log: ActionLog
  /** Fields of the target's status; what differs at the end of the pass is written at once. */
  readonly status: StatusOf<Target>
  /** Writes what `status` says so far, and puts it into `target`: what comes next may rely on it, also after a crash. */
  readonly save: () => Promise<void>
  /** Of a controller that a wing ships: what the wing has read of its flags (`OpenWing.settings`), the same in every replay; else undefined. */
  readonly settings: JsonValue | undefined
}

/** An object to be there as given: what is not mentioned is left alone, null removes a field. */
export interface WantedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: WantedMeta
  readonly [field: string]: unknown
}

export interface WantedMeta {
  readonly name: string
  /** Default: the target's. Another one has to be declared (`writes`). */
  readonly namespace?: string | undefined
  readonly labels?: Readonly<Record<string, string | null>> | undefined
  readonly annotations?: Readonly<Record<string, string | null>> | undefined
  /** Put on beside those of others; `release` takes one off. */
  readonly finalizers?: readonly string[] | undefined
}

/** An object of this type to be there as given: any part of it, with null for what is to go. */
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

/** An object that was observed: enough to write to it, and to no other of its name. */
export interface ObservedObject {
  readonly apiVersion: string
  readonly kind: string
  /** Objects of kinds without namespaces have none. */
  readonly metadata: Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'> & Partial<Pick<ObjectMeta, 'namespace'>>
}

/** Fields of somebody else's object. Labels, annotations and finalizers of its metadata, and nothing that says whose it is. */
export type ObjectPatch = Readonly<Record<string, unknown>> & {
  readonly metadata?: Pick<WantedMeta, 'labels' | 'annotations'>
}

/**
 * How an object that is made belongs to the target. `target`: by owner reference, so Kubernetes deletes it after the target. `label`: by label
 * and annotation, where owner references do not reach; `onDelete` removes it. `none`: it stays when the target goes.
 */
export type Ownership = 'target' | 'label' | 'none'

export interface CreateOptions {
  /** Default: `target`, where an owner reference reaches; `label` in another namespace, or without one. */
  readonly owner?: Ownership
}

export interface ApplyOptions extends CreateOptions {
  /** Take over an object that is there and belongs to nobody. Default: it is in the way. */
  readonly adopt?: boolean
  /** Write only while the object is the one that was observed, as it was observed; else the fault `Changed`. */
  readonly expected?: ObservedObject | undefined
}

export interface PatchOptions {
  /** Write only while the object is as it was observed; else the fault `Changed`. Default: while it is the same object. */
  readonly fenced?: boolean
}

/** What `kubectl describe` shows of the target, or of another object that it concerns. */
export interface TargetEvent {
  readonly type: 'Normal' | 'Warning'
  /** One CamelCase word. */
  readonly reason: string
  readonly message: string
  /** Tells apart what is said in the same words about different occasions. Of one occasion it is said once. */
  readonly occasion?: string
  /** The object that it is about, in its namespace. Default: the target. */
  readonly about?: ObservedObject
  /**
   * What it says to programs. At most 16 KiB with their names; what is larger is left out, and named by the annotation `pawl.dev/left-out`. Events that differ by
   * them alone are one: that which was told first.
   */
  readonly annotations?: Readonly<Record<string, string>>
}

/** What an action can do to the world. Each call is one idempotent activity; its failure becomes the action's fault. */
export interface LevelActs {
  /**
   * Makes the object be as given, owned by the target. An object of that name that is another one's, or nobody's, is a fault until it changes
   * or goes (`OwnedByAnother`, `NotOwned`).
   */
  apply<Stored = WantedObject>(object: Wanted<NoInfer<Stored>>, options?: ApplyOptions): Promise<void>
  /** Makes the object, unless one of its name is there: that is left as it is. Also 'exists' when an earlier try of this call made it. */
  create<Stored = WantedObject>(object: Wanted<NoInfer<Stored>>, options?: CreateOptions): Promise<'created' | 'exists'>
  /** Writes the mentioned fields of an object that somebody else made, also of its status, and never whose it is. */
  patch(object: ObservedObject, patch: ObjectPatch, options?: PatchOptions): Promise<void>
  /** Deletes the object that was observed; one that is gone is success, one that changed since is a retryable fault. */
  remove(object: ObservedObject): Promise<void>
  /** Takes a finalizer off the object that was observed; one that is gone is success. @returns 'gone' where nothing else held it: it is not there any more. */
  release(object: ObservedObject, finalizer: string): Promise<'released' | 'gone'>
  /** Records an event on the target, or about another object, at once or along with the pass's next call (`LevelSettings.events`). Said again in the same words it is one event. */
  event(event: TargetEvent): Promise<void>
}

/** What may be said about the status: fields of the target's type, null for what is to go. */
export type StatusOf<Target> = Target extends { readonly status?: infer Status }
  ? unknown extends Status
    ? Record<string, JsonValue>
    : { -readonly [Field in keyof NonNullable<Status>]?: NonNullable<Status>[Field] | null }
  : Record<string, JsonValue>

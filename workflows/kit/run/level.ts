// The pass of a controller in level mode: a run that lives until its object has converged. Types only; generated code and the
// actions of users' controllers are written against them. Source: docs/architecture.md "Subjects and routes", spec/kit.md 8.

import type { ObjectMeta } from '../kind/kind.ts'
import type { ActionLog, OwnActivities } from './own-activities.ts'
import type { By, Subject } from './subject.ts'
import type { JsonValue } from '../kind/schema.ts'

/** An object as it travels. */
export interface JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** An object of another kind to be there as given: what is not mentioned is left alone. */
export interface WantedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    /** Default: the target's. */
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** An object that was observed: enough to delete it and no other of its name. */
export interface ObservedObject {
  readonly apiVersion: string
  readonly kind: string
  /** Objects of kinds without namespaces have none. */
  readonly metadata: Omit<ObjectMeta, 'namespace'> & Partial<Pick<ObjectMeta, 'namespace'>>
}

/** What an action can do to the world. Each call is one idempotent activity; its failure becomes the action's fault. */
export interface LevelActs {
  /** Makes the object be as given, owned by the target. An object of that name with another controlling owner is a final fault. */
  apply(object: WantedObject): Promise<void>
  /** Deletes the object that was observed; one that is gone is success, one that changed since is a retryable fault. */
  remove(object: ObservedObject): Promise<void>
}

export interface LevelPass<State, Target> {
  readonly subject: Subject
  readonly by: By
  /** The object itself, as observed at the start of the pass. */
  readonly target: Target
  /** What the queries found at the start of the pass. */
  readonly state: State
  /** Reads one state again; for states marked `fresh`, and after writes. */
  refresh<Name extends keyof State>(name: Name): Promise<State[Name]>
  readonly act: LevelActs
  /** The activities of the controller: `await pass.call(quotes).fetchQuote({ symbol })`. A failure is the action's fault. */
  readonly call: <Calls extends object>(activities: OwnActivities<Calls>) => Calls
  /** The time of the pass, read once when it had looked: the same for all of its actions, and in every replay. */
  readonly now: Date
  /** Lines in the worker's log, with the object and the name of the action that writes them; not in replays. */
  readonly log: ActionLog
  /** Fields of the target's status; what differs at the end of the pass is written at once. */
  readonly status: Record<string, JsonValue>
}

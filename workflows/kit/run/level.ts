// The pass of a controller in level mode: a run that lives until its object has converged. Types only; generated code and the
// actions of users' controllers are written against them. Source: docs/architecture.md "Subjects and routes", spec/kit.md 8.

import type { ObjectMeta } from '../kind/kind.ts'
import type { JsonValue } from '../kind/schema.ts'
import type { ActionLog, OwnActivities } from './own-activities.ts'
import type { Narrowed } from './query.ts'
import type { By, Subject } from './subject.ts'
import type { LevelActs, StatusOf } from './level-acts.ts'

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

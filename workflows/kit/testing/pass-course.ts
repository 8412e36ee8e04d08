// What a test gives to a pass, and what came of it. Types only.

import type { Fault, Outcome } from '../plan/outcome.ts'
import type { JsonValue } from '../kind/schema.ts'
import type { ObjectPatch, ObservedObject, WantedObject } from '../run/level/level-pass.ts'
import type { TracedStep } from '../plan/trace.ts'
import type { Unstored } from './stored-objects.ts'

/** What a test gives to a pass. */
export interface GivenPass<State, Target> {
  /** The object; what it lacks of metadata is made up, and group and kind are the controller's. */
  readonly target: Unstored<Omit<Target, 'apiVersion' | 'kind'>>
  /** What the queries found; a state that is not given is empty. */
  readonly state?: Partial<State>
  /** Answers of the controller's own activities, by their names. */
  readonly calls?: FakedCalls
  /** What the controller's wing tells its passes. */
  readonly settings?: JsonValue
  /** What goes wrong. */
  readonly fails?: FakedFaults
  /** What becomes of an object whose finalizer is taken off, as `act.release` says it; default: others hold it. */
  readonly released?: (object: ObservedObject) => 'released' | 'gone'
  /** What time it is at the latest; default: that of `Date`, as `now`. */
  readonly latest?: Date
}

/** Answers by the name of the activity; what they throw is a bug of the test. */
export type FakedCalls = Readonly<Record<string, (input: never) => unknown>>

/** A fault for every call, or for those for which the function has one. */
export interface FakedFaults {
  readonly apply?: Fault | ((object: WantedObject) => Fault | undefined)
  readonly create?: Fault | ((object: WantedObject) => Fault | undefined)
  readonly patch?: Fault | ((object: ObservedObject) => Fault | undefined)
  readonly release?: Fault | ((object: ObservedObject) => Fault | undefined)
  readonly remove?: Fault | ((object: ObservedObject) => Fault | undefined)
  /** Of the controller's own activities. */
  readonly call?: Fault | ((call: { readonly name: string; readonly input: unknown }) => Fault | undefined)
  /** The state with this name cannot be read: a fault of the actions that ask for it. */
  readonly observe?: Fault | ((state: string) => Fault | undefined)
  /** Of the state with this name. */
  readonly refresh?: Fault | ((state: string) => Fault | undefined)
  /** The status cannot be written, by `save` or at the end. */
  readonly status?: Fault
}

export type TestWrite =
  | { readonly verb: 'apply' | 'create'; readonly object: WantedObject }
  | { readonly verb: 'patch'; readonly object: ObservedObject; readonly patch: ObjectPatch }
  | { readonly verb: 'remove'; readonly object: ObservedObject }
  | { readonly verb: 'release'; readonly object: ObservedObject; readonly finalizer: string }

/** What `kubectl describe` would show. */
export interface TestEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly occasion?: string
  /** `Pod web-1`, when it is not the target. */
  readonly about?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** What came of a pass. */
export interface PassCourse<State, Target> {
  readonly outcome: Outcome
  /** How the run ends after it; undefined: it stays open. */
  readonly ended: 'Converged' | 'Deleted' | undefined
  /** In their order. What is so already is not written. */
  readonly writes: readonly TestWrite[]
  /** The writes as text, such as `apply Job report-1`. */
  readonly written: readonly string[]
  /** The fields of the status that are written: those that differ. */
  readonly status: Readonly<Record<string, JsonValue>>
  readonly events: readonly TestEvent[]
  /** Lines of `pass.log`, such as `info made {"name":"one"}`. */
  readonly logged: readonly string[]
  /** What was done to the controller's finalizer. */
  readonly finalizer: 'put on' | 'taken off' | undefined
  /** Which steps ran, with which outcome: for `describeTrace`, `traceToMermaid`, or a file for `pawl plan show --trace`. */
  readonly trace: TracedStep
  /** What the next pass would find: the object with its status, and the states with what was written. */
  readonly next: { readonly target: Target; readonly state: State }
}

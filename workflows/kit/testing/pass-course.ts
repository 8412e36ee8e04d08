// Input and result of `runPass`. Types only.

import type { Fault, Outcome } from '../plan/outcome.ts'
import type { JsonValue } from '../kind/schema.ts'
import type { ObjectPatch, ObservedObject, WantedObject } from '../run/level/level-pass.ts'
import type { TracedStep } from '../plan/trace.ts'
import type { Unstored } from './stored-objects.ts'

/** The input of a test's pass. */
export interface GivenPass<State, Target> {
  /** The target; missing metadata gets defaults, and group and kind are the controller's. */
  readonly target: Unstored<Omit<Target, 'apiVersion' | 'kind'>>
  /** The query results; a state that is not given is empty. */
  readonly state?: Partial<State>
  /** Results of the controller's own activities by name. */
  readonly calls?: FakedCalls
  /** The wing's settings. */
  readonly settings?: JsonValue
  /** Faults of the pass. */
  readonly fails?: FakedFaults
  /** The result of `act.release`; default: other finalizers keep the object. */
  readonly released?: (object: ObservedObject) => 'released' | 'gone'
  /** The latest time; default: the time of `Date`, like `now`. */
  readonly latest?: Date
}

/** Functions by activity name; an error that they throw is a bug of the test. */
export type FakedCalls = Readonly<Record<string, (input: never) => unknown>>

/** One fault for every call, or a function that selects calls. */
export interface FakedFaults {
  readonly apply?: Fault | ((object: WantedObject) => Fault | undefined)
  readonly create?: Fault | ((object: WantedObject) => Fault | undefined)
  readonly patch?: Fault | ((object: ObservedObject) => Fault | undefined)
  readonly release?: Fault | ((object: ObservedObject) => Fault | undefined)
  readonly remove?: Fault | ((object: ObservedObject) => Fault | undefined)
  /** Faults of the controller's own activities. */
  readonly call?: Fault | ((call: { readonly name: string; readonly input: unknown }) => Fault | undefined)
  /** The state cannot be read: a fault of the actions that use it. */
  readonly observe?: Fault | ((state: string) => Fault | undefined)
  /** Faults of `refresh`. */
  readonly refresh?: Fault | ((state: string) => Fault | undefined)
  /** The status cannot be written, by `save` or at the end. */
  readonly status?: Fault
}

/** A write of an action, in the order of the pass. */
export type TestWrite =
  | { readonly verb: 'apply' | 'create'; readonly object: WantedObject }
  | { readonly verb: 'patch'; readonly object: ObservedObject; readonly patch: ObjectPatch }
  | { readonly verb: 'remove'; readonly object: ObservedObject }
  | { readonly verb: 'release'; readonly object: ObservedObject; readonly finalizer: string }

/** An Event as in `kubectl describe`. */
export interface TestEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly occasion?: string
  /** `Pod web-1`, if it is not the target. */
  readonly about?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** The result of a pass. */
export interface PassCourse<State, Target> {
  readonly outcome: Outcome
  /** The run's result; undefined: the run stays open. */
  readonly ended: 'Converged' | 'Deleted' | undefined
  /** The writes in order. Unchanged objects are not written. */
  readonly writes: readonly TestWrite[]
  /** The writes as text, such as `apply Job report-1`. */
  readonly written: readonly string[]
  /** The changed status fields. */
  readonly status: Readonly<Record<string, JsonValue>>
  readonly events: readonly TestEvent[]
  /** Lines of `pass.log`, such as `info made {"name":"one"}`. */
  readonly logged: readonly string[]
  /** Whether the controller's finalizer was added or removed. */
  readonly finalizer: 'put on' | 'taken off' | undefined
  /** Outcomes of the steps: for `describeTrace`, `traceToMermaid`, or a file for `pawl plan show --trace`. */
  readonly trace: TracedStep
  /** The input of the next pass: the target with its status, and the states with the writes. */
  readonly next: { readonly target: Target; readonly state: State }
}

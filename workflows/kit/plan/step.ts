// Steps: plain data with a name, children and a run function, so that trees of steps can be drawn (describe.ts) without
// running them. `Runtime` is the interface to the engine: Temporal in production, a fake in unit tests. It contains
// only the functions that combinators need.

import { done, type Outcome } from './outcome.ts'

/** A node of a plan: an action, or a group of steps. */
export interface Step<Pass> {
  readonly name: string
  readonly children: readonly Step<Pass>[]
  run(pass: Pass, runtime: Runtime, hooks?: StepHooks<Pass>): Promise<Outcome>
}

/**
 * Called around every node of a plan, always in pairs: also when a step throws or is cancelled, and when `before` itself throws. Must not do I/O.
 * RFC: ControllerManagerActionLifeCycleHook.
 */
export interface StepHooks<Pass = unknown> {
  /** @param pass contains the object. */
  before?(step: { readonly name: string }, pass: Pass): void
  after?(step: { readonly name: string }, result: Outcome | { readonly thrown: unknown }, pass: Pass): void
}

/** A leaf. Failures of activities become faults; cancellation, continue-as-new and bugs are rethrown. RFC: action. */
export function action<Pass>(name: string, body: (pass: Pass) => Promise<Outcome> | Outcome): Step<Pass> {
  return {
    name,
    children: [],
    async run(pass, runtime) {
      try {
        const act = () => body(pass)
        return checkedOutcome(name, await (runtime.inAction === undefined ? act() : runtime.inAction(name, act)))
      } catch (error) {
        const outcome = runtime.toOutcome(error)
        if (outcome === undefined) throw error
        return outcome
      }
    },
  }
}

/** Actions are also written without types. @throws a plain Error (a bug) for a value that is no outcome. */
function checkedOutcome(action: string, value: unknown): Outcome {
  const { faults, againMs, laterMs } = (value ?? {}) as Partial<Record<keyof Outcome, unknown>>
  const isOutcome = Array.isArray(faults) && faults.every(isFault) && [againMs, laterMs].every(isDelay)
  if (isOutcome) return value as Outcome
  throw new Error(`action "${action}" returned ${quoted(value)}; return an outcome, for example done`)
}

function isFault(value: unknown): boolean {
  const { code, message } = (value ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string'
}

function isDelay(value: unknown): boolean {
  return value === undefined || Number.isFinite(value)
}

/** Objects without their fields, which may be confidential. */
function quoted(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'another object'
  return typeof value === 'function' ? 'a function' : String(value)
}

// The names of the steps that threw, for reports of bugs. Keyed by error, because several runs of a process share this module.
const THROWING_STEPS = new WeakMap<object, string>()

/** The innermost step that threw this error; undefined for errors outside of steps, and for values that are not objects. */
export function throwingStep(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null ? THROWING_STEPS.get(thrown) : undefined
}

function rememberStep(thrown: unknown, { name }: { readonly name: string }): void {
  if (typeof thrown === 'object' && thrown !== null && !THROWING_STEPS.has(thrown)) THROWING_STEPS.set(thrown, name)
}

/** Does nothing. */
export const nop: Step<unknown> = { name: 'nop', children: [], run: () => Promise.resolve(done) }

/** Runs one node with its hooks. */
export async function runStep<Pass>(
  step: Step<Pass>,
  pass: Pass,
  runtime: Runtime,
  hooks?: StepHooks<Pass>,
): Promise<Outcome> {
  let outcome: Outcome
  try {
    // Inside of the try: `after` follows a `before` that throws.
    hooks?.before?.(step, pass)
    outcome = await step.run(pass, runtime, hooks)
  } catch (thrown) {
    rememberStep(thrown, step)
    hooks?.after?.(step, { thrown }, pass)
    throw thrown
  }
  // Outside of the try: an `after` that throws is not called twice for one step.
  hooks?.after?.(step, outcome, pass)
  return outcome
}

/** The functions of the engine that combinators need: Temporal in production, a fake in unit tests. */
export interface Runtime {
  /** Waits durably; for short waits inside a pass, long ones use `again`. Rejects when the scope is cancelled. */
  sleep(ms: number): Promise<void>
  /** Runs `body` in a scope that is cancelled after `ms`. Returns 'expired' on its own expiry; rethrows an outer cancellation. */
  withTimeout<T>(ms: number, body: () => Promise<T>): Promise<T | 'expired'>
  /** The fault of a failed activity or child workflow; undefined for cancellation, continue-as-new and bugs, which the caller rethrows. */
  toOutcome(error: unknown): Outcome | undefined
  /** Calls the body of an action and adds the action's name to its log lines. Absent: calls the body only. */
  inAction?<T>(name: string, body: () => T): T
}

// Names that may repeat: these steps are not recorded, or are groups without children.
const SHARED_NAMES: ReadonlySet<string> = new Set(['nop', 'sequential', 'join', 'joinOrdered', 'parallelJoin'])

/**
 * Returns the plan if every leaf has a unique name, because names identify actions in records and drawings.
 *
 * @throws a plain Error (a bug) with all empty and repeated names.
 */
export function checkedPlan<Pass>(plan: Step<Pass>): Step<Pass> {
  const names = leaves(plan).map(({ name }) => name)
  if (names.some((name) => name.trim() === ''))
    throw new Error('a step of the plan has no name; expected a verb and a noun, such as applyService')
  const repeated = [...new Set(names.filter((name, index) => !SHARED_NAMES.has(name) && names.indexOf(name) !== index))]
  if (repeated.length > 0) {
    throw new Error(
      `several steps of the plan have the same name: ${repeated.join(', ')}; give each step a different name`,
    )
  }
  return plan
}

/** The steps without children, in the order of the plan. */
export function leaves<Pass>(plan: Step<Pass>): readonly Step<Pass>[] {
  return plan.children.length === 0 ? [plan] : plan.children.flatMap((child) => leaves(child))
}

/** The result of `lastAction`. */
export interface LastAction<Pass> {
  readonly name: string
  runAfter(pass: Pass, outcome: Outcome, runtime: Runtime): Promise<Outcome>
}

/**
 * A leaf for `always(body, last)` that gets the outcome of the body; its own outcome is joined. Errors are handled like those of `action`. It is not
 * a
 * step, because elsewhere in a plan there is no outcome to give it.
 */
export function lastAction<Pass>(
  name: string,
  body: (pass: Pass, outcome: Outcome) => Promise<Outcome> | Outcome,
): LastAction<Pass> {
  return {
    name,
    runAfter: (pass, outcome, runtime) => action<Pass>(name, (one) => body(one, outcome)).run(pass, runtime),
  }
}

/** Converts it to a step with this outcome; drawings use any outcome. */
export function lastStep<Pass>(last: Step<Pass> | LastAction<Pass>, outcome: Outcome): Step<Pass> {
  if (!('runAfter' in last)) return last
  const { name } = last
  return { name, children: [], run: (pass, runtime) => last.runAfter(pass, outcome, runtime) }
}

/** Hooks identify steps by object identity: calls them with the drawn step. */
export function hooksOf<Pass>(drawn: Step<Pass>, hooks: StepHooks<Pass> | undefined): StepHooks<Pass> | undefined {
  if (hooks === undefined) return undefined
  return {
    before: (_, pass) => hooks.before?.(drawn, pass),
    after: (_, result, pass) => hooks.after?.(drawn, result, pass),
  }
}

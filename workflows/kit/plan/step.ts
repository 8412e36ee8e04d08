// A step is plain data: a name, its children, and how it runs. Trees of steps can be drawn (describe.ts) without running them.

import { done, type Outcome } from './outcome.ts'
import type { Runtime } from './runtime.ts'

export interface Step<Pass> {
  readonly name: string
  readonly children: readonly Step<Pass>[]
  run(pass: Pass, runtime: Runtime, hooks?: StepHooks<Pass>): Promise<Outcome>
}

/**
 * Called around every node of a plan, always in pairs: also when a step throws or is cancelled, and when `before` itself throws. Must not do
 * I/O. RFC: ControllerManagerActionLifeCycleHook.
 */
export interface StepHooks<Pass = unknown> {
  /** @param pass with the object that it is about. */
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
        return await (runtime.inAction === undefined ? act() : runtime.inAction(name, act))
      } catch (error) {
        const outcome = runtime.toOutcome(error)
        if (outcome === undefined) throw error
        return outcome
      }
    },
  }
}

/** Does nothing. */
export const nop: Step<unknown> = { name: 'nop', children: [], run: () => Promise.resolve(done) }

/** Runs one node with its hooks around it. */
export async function runStep<Pass>(
  step: Step<Pass>,
  pass: Pass,
  runtime: Runtime,
  hooks?: StepHooks<Pass>,
): Promise<Outcome> {
  let outcome: Outcome
  try {
    // Inside of the try: a hook that throws here is followed by its other half.
    hooks?.before?.(step, pass)
    outcome = await step.run(pass, runtime, hooks)
  } catch (thrown) {
    hooks?.after?.(step, { thrown }, pass)
    throw thrown
  }
  // Outside of the try: a hook that throws here is not called a second time for the same step.
  hooks?.after?.(step, outcome, pass)
  return outcome
}

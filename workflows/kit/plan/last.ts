// The second step of an `always` that wants to know what the first came to. It has a name and no children, so it is drawn as an action is; it is
// none, because elsewhere in a plan there is no outcome that it could be told.

import type { Outcome } from './outcome.ts'
import type { Runtime } from './runtime.ts'
import { action, type Step, type StepHooks } from './step.ts'

export interface LastAction<Pass> {
  readonly name: string
  runAfter(pass: Pass, outcome: Outcome, runtime: Runtime): Promise<Outcome>
}

/** A leaf for `always(body, last)` that gets the outcome of the body; its own is joined to that. Failures and throws are as those of `action`. */
export function lastAction<Pass>(
  name: string,
  body: (pass: Pass, outcome: Outcome) => Promise<Outcome> | Outcome,
): LastAction<Pass> {
  return {
    name,
    runAfter: (pass, outcome, runtime) => action<Pass>(name, (one) => body(one, outcome)).run(pass, runtime),
  }
}

/** As a step, once the outcome is there; for drawings with any. */
export function lastStep<Pass>(last: Step<Pass> | LastAction<Pass>, outcome: Outcome): Step<Pass> {
  if (!('runAfter' in last)) return last
  const { name } = last
  return { name, children: [], run: (pass, runtime) => last.runAfter(pass, outcome, runtime) }
}

/** Hooks know a step by its identity: what runs as this one is told to them as the one that is drawn. */
export function hooksOf<Pass>(drawn: Step<Pass>, hooks: StepHooks<Pass> | undefined): StepHooks<Pass> | undefined {
  if (hooks === undefined) return undefined
  return {
    before: (_, pass) => hooks.before?.(drawn, pass),
    after: (_, result, pass) => hooks.after?.(drawn, result, pass),
  }
}

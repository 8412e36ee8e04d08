// Combinators: build plans from steps. Each result is plain data with its children, so that a plan can be drawn without running it.
// Source: spec/kit.md 8 "Steps".
//
//   B1. Every child runs through `runStep`, so hooks come in pairs around every node, also when a step throws.
//   B2. An error is not an outcome: cancellation, continue-as-new and bugs pass through every combinator unchanged.
//   B3. Conditions are functions and are evaluated when the step runs, not when the plan is built.
//   B4. An empty group does nothing; a group of one stays a group. The plan is the tree that its author wrote.

import { done, interrupts, joinOutcomes, type Outcome, retryLater } from './outcome.ts'
import { hooksOf, type LastAction, lastStep, type Runtime, runStep, type Step, type StepHooks } from './step.ts'

/** Runs the steps in order until one interrupts the pass, and joins the outcomes. RFC: Sequential. */
export function sequential<Pass>(...steps: readonly Step<Pass>[]): Step<Pass> {
  return {
    name: 'sequential',
    children: steps,
    async run(pass, runtime, hooks) {
      let before = done
      for (const step of steps) {
        const outcome = joinOutcomes(before, await runStep(step, pass, runtime, hooks))
        if (interrupts(outcome)) return outcome
        before = outcome
      }
      return before
    },
  }
}

/** Runs all steps and joins their outcomes; the author does not rely on an order. RFC: Join. */
export function join<Pass>(...steps: readonly Step<Pass>[]): Step<Pass> {
  return { name: 'join', children: steps, run: (pass, runtime, hooks) => runAll(steps, pass, runtime, hooks) }
}

/** Runs all steps in the given order, on which the author relies, and joins their outcomes. RFC: JoinOrdered. */
export function joinOrdered<Pass>(...steps: readonly Step<Pass>[]): Step<Pass> {
  return { name: 'joinOrdered', children: steps, run: (pass, runtime, hooks) => runAll(steps, pass, runtime, hooks) }
}

/**
 * Starts all steps in the given order and waits for all of them, also when one throws; then rethrows the first error in this order. RFC:
 * ParallelJoin.
 */
export function parallelJoin<Pass>(...steps: readonly Step<Pass>[]): Step<Pass> {
  return {
    name: 'parallelJoin',
    children: steps,
    async run(pass, runtime, hooks) {
      const settled = await Promise.allSettled(steps.map((step) => runStep(step, pass, runtime, hooks)))
      return joinOutcomes(
        ...settled.map((result) => {
          if (result.status === 'rejected') throw result.reason
          return result.value
        }),
      )
    },
  }
}

/**
 * Runs `step` when the condition holds, else `otherwise`. Takes a function, never a boolean, because the RFC's If invites evaluation while the plan
 * is
 * built (B3). A failure in the condition is the step's fault, like in an action. RFC: If.
 */
export function when<Pass>(condition: (pass: Pass) => boolean, step: Step<Pass>, otherwise?: Step<Pass>): Step<Pass> {
  return {
    name: condition.name === '' ? 'when' : `when ${condition.name}`,
    children: otherwise === undefined ? [step] : [step, otherwise],
    async run(pass, runtime, hooks) {
      let chosen: Step<Pass> | undefined
      try {
        chosen = condition(pass) ? step : otherwise
      } catch (error) {
        // The condition reads a state that could not be read.
        const outcome = runtime.toOutcome(error)
        if (outcome === undefined) throw error
        return outcome
      }
      return chosen === undefined ? done : runStep(chosen, pass, runtime, hooks)
    },
  }
}

/** Cancels the step after `ms`: a retryable fault `Timeout`. A cancellation from outside is rethrown. RFC: Timeout. */
export function timeout<Pass>(ms: number, step: Step<Pass>): Step<Pass> {
  requireDuration('timeout', ms)
  return {
    name: `timeout ${ms} ms`,
    children: [step],
    async run(pass, runtime, hooks) {
      const result = await runtime.withTimeout(ms, () => runStep(step, pass, runtime, hooks))
      return result === 'expired' ? retryLater('Timeout', `${step.name} took longer than ${ms} ms`) : result
    },
  }
}

/** The number of tries and the delays between them. */
export interface RetryOptions {
  /** Maximum number of runs, including the first; at least 1. */
  readonly attempts: number
  /** Delay before the second run. Use `again` for long delays, because it occupies no worker. */
  readonly delayMs: number
  /** Growth factor of the delay; default 1. */
  readonly factor?: number
}

/** Runs the step again while its outcome has only retryable faults; never after a stop or a requested pass. */
export function retry<Pass>({ attempts, delayMs, factor = 1 }: RetryOptions, step: Step<Pass>): Step<Pass> {
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new Error(`retry: found ${attempts} attempts; expected a whole number of at least 1`)
  }
  requireDuration('retry', delayMs)
  requireDuration('retry', delayMs * factor)
  return {
    name: `retry ${attempts} times`,
    children: [step],
    async run(pass, runtime, hooks) {
      let outcome = await runStep(step, pass, runtime, hooks)
      let delay = delayMs
      for (let attempt = 1; attempt < attempts && mayRetry(outcome); attempt++) {
        await runtime.sleep(delay)
        delay *= factor
        outcome = await runStep(step, pass, runtime, hooks)
      }
      return outcome
    },
  }
}

/** Runs the fallback when the step reports faults; its outcome replaces the faults. Hooks still see the first outcome. */
export function orElse<Pass>(step: Step<Pass>, fallback: Step<Pass>): Step<Pass> {
  return {
    name: 'orElse',
    children: [step, fallback],
    async run(pass, runtime, hooks) {
      const outcome = await runStep(step, pass, runtime, hooks)
      return outcome.faults.length === 0 ? outcome : runStep(fallback, pass, runtime, hooks)
    },
  }
}

/**
 * Runs `last` after any outcome of `body` and joins both, so that no faults are lost. Not when `body` throws (B2). A `lastAction` gets the outcome of
 * `body`. RFC: defer.
 */
export function always<Pass>(body: Step<Pass>, last: Step<Pass> | LastAction<Pass>): Step<Pass> {
  const drawn = lastStep(last, done)
  return {
    name: 'always',
    children: [body, drawn],
    async run(pass, runtime, hooks) {
      const outcome = await runStep(body, pass, runtime, hooks)
      const step = lastStep(last, outcome)
      const stepHooks = step === drawn ? hooks : hooksOf(drawn, hooks)
      return joinOutcomes(outcome, await runStep(step, pass, runtime, stepHooks))
    },
  }
}

async function runAll<Pass>(
  steps: readonly Step<Pass>[],
  pass: Pass,
  runtime: Runtime,
  hooks?: StepHooks<Pass>,
): Promise<Outcome> {
  const outcomes: Outcome[] = []
  for (const step of steps) outcomes.push(await runStep(step, pass, runtime, hooks))
  return joinOutcomes(...outcomes)
}

function mayRetry({ faults, againMs, stopped }: Outcome): boolean {
  return (
    againMs === undefined && stopped === undefined && faults.length > 0 && faults.every(({ retryable }) => retryable)
  )
}

function requireDuration(combinator: string, ms: number): void {
  if (!Number.isFinite(ms) || ms < 0) throw new Error(`${combinator}: found ${ms} ms; expected a number of at least 0`)
}

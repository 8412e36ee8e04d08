// Who listens to a run while it is replayed (recording.ts): it is told where passes begin, and what the steps of plans came to. In a worker nobody
// listens, and nothing of this costs more than a look.

import { AsyncLocalStorage, inWorkflowContext } from '@temporalio/workflow'
import type { By } from '../subject.ts'
import type { Step, StepHooks } from '../../plan/step.ts'

export interface ReplayListener {
  passBegins(by: By, isOutside: boolean): void
  /** Of a plan that begins. @returns hooks for its steps, and whom to tell that it has ended. */
  planBegins<Pass>(plan: Step<Pass>, pass: Pass): PlanListener
}

export interface PlanListener {
  readonly hooks: Required<StepHooks>
  ended(): void
}

const LISTENER = new AsyncLocalStorage<ReplayListener>()

/** Runs a workflow with somebody who listens. */
export function withReplayListener<T>(replayListener: ReplayListener, run: () => T): T {
  return LISTENER.run(replayListener, run)
}

/** Undefined: nobody listens. Unit tests run steps outside of the sandbox. */
export function witness(): ReplayListener | undefined {
  return inWorkflowContext() ? LISTENER.getStore() : undefined
}

/** Runs one plan; `hooks` are called between those of who listens. */
export async function runListenedPlan<Pass, T>(
  plan: Step<Pass>,
  { pass, hooks }: { readonly pass: Pass; readonly hooks: StepHooks<Pass> | undefined },
  run: (hooks: StepHooks<Pass> | undefined) => Promise<T>,
): Promise<T> {
  const told = witness()?.planBegins(plan, pass)
  if (told === undefined) return await run(hooks)
  try {
    return await run(both(told.hooks, hooks))
  } finally {
    told.ended()
  }
}

function both<Pass>(outer: Required<StepHooks>, inner: StepHooks<Pass> | undefined): StepHooks<Pass> {
  return {
    before(step, pass) {
      outer.before(step, pass)
      inner?.before?.(step, pass)
    },
    after(step, result, pass) {
      inner?.after?.(step, result, pass)
      outer.after(step, result, pass)
    },
  }
}

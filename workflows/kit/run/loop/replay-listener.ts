// Listener for passes and plan steps of a run during a replay (recording.ts). A worker has no listener and skips all of it.

import { AsyncLocalStorage, inWorkflowContext } from '@temporalio/workflow'
import type { By } from '../subject.ts'
import type { Step, StepHooks } from '../../plan/step.ts'

export interface ReplayListener {
  passBegins(by: By, isOutside: boolean): void
  /** Called when a plan begins. @returns hooks for its steps and for its end. */
  planBegins<Pass>(plan: Step<Pass>, pass: Pass): PlanListener
}

export interface PlanListener {
  readonly hooks: Required<StepHooks>
  ended(): void
}

const LISTENER = new AsyncLocalStorage<ReplayListener>()

/** Runs a workflow with a listener. */
export function withReplayListener<T>(replayListener: ReplayListener, run: () => T): T {
  return LISTENER.run(replayListener, run)
}

/** Undefined without a listener. Unit tests run steps outside of the sandbox. */
export function currentReplayListener(): ReplayListener | undefined {
  return inWorkflowContext() ? LISTENER.getStore() : undefined
}

/** Runs a plan; `hooks` are called inside the listener's hooks. */
export async function runListenedPlan<Pass, T>(
  plan: Step<Pass>,
  { pass, hooks }: { readonly pass: Pass; readonly hooks: StepHooks<Pass> | undefined },
  run: (hooks: StepHooks<Pass> | undefined) => Promise<T>,
): Promise<T> {
  const planHooks = currentReplayListener()?.planBegins(plan, pass)
  if (planHooks === undefined) return await run(hooks)
  try {
    return await run(both(planHooks.hooks, hooks))
  } finally {
    planHooks.ended()
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

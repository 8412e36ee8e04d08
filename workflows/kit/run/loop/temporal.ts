// The kit's runtime on Temporal, and the activity proxies of workflows. Only this file, loop.ts, deadlines.ts, replay-listener.ts and recording.ts
// import
// Temporal in workflows/.
//
//   T1. Only failures of activities and child workflows become outcomes. Cancellation, continue-as-new and bugs pass through: a plain Error fails the
// workflow task, which Temporal retries until the code is fixed.

import { readJson, writeJson } from '../../kind/exact-json.ts'
import {
  ActivityFailure,
  ApplicationFailure,
  AsyncLocalStorage,
  CancellationScope,
  ChildWorkflowFailure,
  inWorkflowContext,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow'
import { done, type FaultCondition, type Outcome } from '../../plan/outcome.ts'
import { runStep, type Runtime, type Step, type StepHooks } from '../../plan/step.ts'
import { DEADLINE_EXCEEDED, SHORT_TRIES } from '../level/level-activities.ts'
import type { ActionLog } from '../level/own-activities.ts'
import { piggybackedEventsText, type Summaries, summaryLine, summaryOf } from '../temporal-ui.ts'
import type { StartedWork } from '../job/background-activities.ts'
import { scopeWithDeadline, type TimeLeft, withinDeadline } from './deadlines.ts'
import { runListenedPlan } from './replay-listener.ts'

const ACTION = new AsyncLocalStorage<string>()

/** The name of the current action of a plan; undefined outside of actions. */
export function currentAction(): string | undefined {
  return ACTION.getStore()
}

export const temporalRuntime: Runtime = {
  // Unit tests run steps outside of the sandbox.
  inAction: (name, body) => (inWorkflowContext() ? ACTION.run(name, body) : body()),

  sleep: (ms) => sleep(ms),

  async withTimeout(ms, body) {
    try {
      return await scopeWithDeadline(ms).run(body)
    } catch (error) {
      const expired = isCancellation(error) && !CancellationScope.current().consideredCancelled
      if (expired) return 'expired'
      throw error
    }
  },

  toOutcome(error): Outcome | undefined {
    if (isCancellation(error)) return undefined
    if (error instanceof ActivityFailure || error instanceof ChildWorkflowFailure)
      return fault(error.cause) ?? oneFault('Unknown', error.cause?.message ?? error.message, true)
    // The SDK throws the failure of a local activity without the wrapper of a regular activity's failure.
    return fault(error)
  },
}

function fault(cause: unknown): Outcome | undefined {
  // Equals a time-out of the server; the deadline of a step is not a failure (deadlines.ts).
  if (cause instanceof ApplicationFailure && cause.type === DEADLINE_EXCEEDED)
    return oneFault('Timeout', cause.message, true)
  if (cause instanceof ApplicationFailure) {
    const condition = conditionIn(cause.details)
    const retryable = cause.nonRetryable !== true || isLater(cause.details)
    const known = { code: cause.type ?? 'Unknown', message: cause.message, retryable }
    return { ...done, faults: [{ ...known, ...(condition !== undefined && { condition }) }] }
  }
  if (cause instanceof TimeoutFailure) return oneFault('Timeout', cause.message, true)
  return undefined
}

/** Set by `laterFailure` of activities/kube/errors.ts. */
function isLater(details: readonly unknown[] | null | undefined): boolean {
  return ((details?.[0] ?? {}) as { readonly isLater?: unknown }).isLater === true
}

/** Set by `finalFailure` of activities/kube/errors.ts. Details of other failures are ignored. */
function conditionIn(details: readonly unknown[] | null | undefined): FaultCondition | undefined {
  const { condition } = (details?.[0] ?? {}) as { readonly condition?: Partial<FaultCondition> }
  const { type, reason } = condition ?? {}
  return typeof type === 'string' && typeof reason === 'string' ? { type, reason } : undefined
}

function oneFault(code: string, message: string, retryable: boolean): Outcome {
  return { ...done, faults: [{ code, message, retryable }] }
}

/** Returns failures of activities as an outcome; throws all other errors. */
export async function attempt<T>(run: () => Promise<T>): Promise<{ value: T } | { outcome: Outcome }> {
  try {
    return { value: await run() }
  } catch (error) {
    const outcome = temporalRuntime.toOutcome(error)
    if (outcome === undefined) throw error
    return { outcome }
  }
}

/** Runs one step of a plan; failures of activities are part of its outcome. */
export async function runOnTemporal<Pass>(step: Step<Pass>, pass: Pass, hooks?: StepHooks<Pass>): Promise<Outcome> {
  const ran = await attempt(() =>
    runListenedPlan(step, { pass, hooks }, (all) => runStep(step, pass, temporalRuntime, all)),
  )
  return 'outcome' in ran ? ran.outcome : ran.value
}

/** A failure of workflow code that a retry cannot fix; the step reports it as its fault. */
export function finalFailure(code: string, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code)
}

/** The same for a failure that a later pass may not meet. */
export function retryableFailure(code: string, message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, code)
}

/** Sets the run's details in the Temporal UI, in Markdown. */
export function showDetails(details: string): void {
  setCurrentDetails(details)
}

type AsyncFunctions<A> = {
  [K in keyof A]: A[K] extends (...args: infer P) => Promise<infer R> ? (...args: P) => Promise<R> : never
}

type Calls = Record<string, (...args: unknown[]) => Promise<unknown>>

interface WithOptions {
  executeWithOptions(options: TimeLeft & { readonly summary: string }, args: unknown[]): Promise<unknown>
}

/** Adds a summary to each call of an SDK proxy. */
function callsWithSummaries<A extends object>(
  calls: Readonly<Record<string, WithOptions>>,
  tell: (name: string, args: unknown[]) => string,
): AsyncFunctions<A> {
  const summarized = new Proxy(calls, {
    get(_, name) {
      if (typeof name !== 'string') throw new TypeError(`found the activity name ${String(name)}; expected a string`)
      return (...args: unknown[]) => calls[name]?.executeWithOptions({ summary: summaryLine(tell(name, args)) }, args)
    },
  })
  return summarized as unknown as AsyncFunctions<A>
}

function summarize<A extends object>(summaries: Summaries<A>): (name: string, args: unknown[]) => string {
  const by = new Map<string, unknown>(Object.entries(summaries))
  return (name, args) => {
    const tell = by.get(name)
    try {
      if (typeof tell === 'function')
        return `${String(Reflect.apply(tell, undefined, args))}${piggybackedEventsText(args[0])}`
    } catch {
      // A user's object may lack fields of its type. A failing summary must not fail the run; the activity reports the defect.
    }
    return summaryOf(name, args[0])
  }
}

/**
 * Short idempotent calls as local activities: one marker in the history each. A few quick tries within the time of one; then the failure is a
 * retryable
 * fault of the pass, and the journal backs off.
 *
 * @param summaries summaries for the Temporal UI.
 */
export function shortActivities<A extends object>(summaries: Summaries<A> = {}): AsyncFunctions<A> {
  const calls = proxyLocalActivities<Calls>({
    startToCloseTimeout: SHORT_MS,
    retry: {
      initialInterval: '50 milliseconds',
      backoffCoefficient: 2,
      maximumInterval: '1 second',
      maximumAttempts: SHORT_TRIES,
    },
  })
  return callsWithSummaries(boundedCalls(calls), summarize(summaries))
}

const SHORT_MS = 30_000

/** Limits calls to the deadline of their step and to the time of one try. */
function boundedCalls(calls: Readonly<Record<string, WithOptions>>): typeof calls {
  return new Proxy(calls, {
    get(_, name) {
      const call = calls[String(name)]
      const executeWithOptions: WithOptions['executeWithOptions'] = (options, args) =>
        withinDeadline(SHORT_MS, (left) => call?.executeWithOptions({ ...options, ...left }, args) ?? Promise.resolve())
      return { executeWithOptions }
    },
  })
}

/** Short calls that must succeed (settle, the end of a run): retried without limit. */
export function endlesslyRetriedActivities<A extends object>(summaries: Summaries<A> = {}): AsyncFunctions<A> {
  const calls = proxyLocalActivities<Calls>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '50 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
  })
  return callsWithSummaries(calls, summarize(summaries))
}

export interface LongActivityOptions {
  readonly startToCloseMs: number
  /** Heartbeat time-out: a worker without heartbeats counts as dead, and another one gets the call. */
  readonly heartbeatMs?: number
  /** Delay between two tries, unless the failure gives one; default 1 s. */
  readonly retryMs?: number
  /** Back-off coefficient; default 1. */
  readonly factor?: number
  /** Maximum delay; default a hundred times the first. */
  readonly longestRetryMs?: number
  /** Default: no limit. */
  readonly attempts?: number
  /** The object of the calls in the Temporal UI; default from the input. */
  readonly about?: string
  /** The full summary of a call. */
  readonly summary?: (name: string) => string
}

/** Longer calls as regular activities, such as calls to other clusters. The server schedules retries, which add no history events. */
export function longActivities<A extends object>(options: LongActivityOptions): AsyncFunctions<A> {
  const {
    startToCloseMs,
    heartbeatMs,
    retryMs = 1000,
    factor = 1,
    longestRetryMs,
    attempts,
    about: summary,
    summary: tell,
  } = options
  const calls = proxyActivities<Calls>({
    startToCloseTimeout: startToCloseMs,
    ...(heartbeatMs !== undefined && { heartbeatTimeout: heartbeatMs }),
    retry: {
      initialInterval: retryMs,
      backoffCoefficient: factor,
      ...(longestRetryMs !== undefined && { maximumInterval: longestRetryMs }),
      ...(attempts !== undefined && { maximumAttempts: attempts }),
    },
  })
  return callsWithSummaries(calls, (name, [input]) => tell?.(name) ?? summaryOf(name, input, summary))
}

/** Logs with these fields and the current action; not in replays. */
export function actionLog(fields: Readonly<Record<string, unknown>>): ActionLog {
  const line =
    (level: keyof ActionLog): ActionLog[keyof ActionLog] =>
    (message, own) => {
      log[level](message, jsonOf({ ...own, ...fields, action: ACTION.getStore() }))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** Values that leave the sandbox are copied, and not every value can be. */
function jsonOf(fields: object): Record<string, unknown> {
  try {
    return readJson(writeJson(fields)) as Record<string, unknown>
  } catch (error) {
    return { fields: `no JSON: ${String(error)}` }
  }
}

/** Runs work in its own cancellable scope. */
export function startWork<T>(work: () => Promise<T>): StartedWork<T> {
  const scope = new CancellationScope({ cancellable: true })
  return { end: scope.run(work), cancel: () => scope.cancel() }
}

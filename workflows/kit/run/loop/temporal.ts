// The kit's runtime on Temporal, and the proxies through which workflows call activities. With loop.ts, deadlines.ts, and what listens to replays
// (witness.ts, recording.ts), the only file of workflows/ that knows Temporal.
//
//   T1. Only failures of activities and children become outcomes. Cancellation, continue-as-new and bugs pass through:
//       a plain Error fails the workflow task, which is retried until the code is fixed (conventions 1.2).

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
import { type FaultCondition, type Outcome, done } from '../../plan/outcome.ts'
import type { Runtime } from '../../plan/runtime.ts'
import { runStep, type Step, type StepHooks } from '../../plan/step.ts'
import { DEADLINE_EXCEEDED, SHORT_TRIES } from '../level/level-activities.ts'
import type { ActionLog } from '../level/own-activities.ts'
import { piggybackedEventsText, summaryLine, summaryOf, type Summaries } from '../temporal-ui.ts'
import type { StartedWork } from '../job/background-activities.ts'
import { scopeWithDeadline, type TimeLeft, withinDeadline } from './deadlines.ts'
import { runListenedPlan } from './replay-listener.ts'

const ACTION = new AsyncLocalStorage<string>()

/** The action of a plan that runs here; undefined outside of one. */
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
    // The SDK hands over the failure of a local activity without the wrapper that a regular one has.
    return fault(error)
  },
}

function fault(cause: unknown): Outcome | undefined {
  // As the time-out that the server would tell of; that of a step is no failure (deadlines.ts).
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

/** As `laterFailure` of activities/kube/errors.ts puts it in. */
function isLater(details: readonly unknown[] | null | undefined): boolean {
  return ((details?.[0] ?? {}) as { readonly isLater?: unknown }).isLater === true
}

/** As `finalFailure` of activities/kube/errors.ts puts it in; details of others are theirs. */
function conditionIn(details: readonly unknown[] | null | undefined): FaultCondition | undefined {
  const { condition } = (details?.[0] ?? {}) as { readonly condition?: Partial<FaultCondition> }
  const { type, reason } = condition ?? {}
  return typeof type === 'string' && typeof reason === 'string' ? { type, reason } : undefined
}

function oneFault(code: string, message: string, retryable: boolean): Outcome {
  return { ...done, faults: [{ code, message, retryable }] }
}

/** Failures of the world as an outcome; everything else is thrown on. */
export async function attempt<T>(run: () => Promise<T>): Promise<{ value: T } | { outcome: Outcome }> {
  try {
    return { value: await run() }
  } catch (error) {
    const outcome = temporalRuntime.toOutcome(error)
    if (outcome === undefined) throw error
    return { outcome }
  }
}

/** Runs one step of a plan; failures of the world are its outcome, too. */
export async function runOnTemporal<Pass>(step: Step<Pass>, pass: Pass, hooks?: StepHooks<Pass>): Promise<Outcome> {
  const ran = await attempt(() =>
    runListenedPlan(step, { pass, hooks }, (all) => runStep(step, pass, temporalRuntime, all)),
  )
  return 'outcome' in ran ? ran.outcome : ran.value
}

/** A failure that a workflow's own code meets and trying again does not help; the step that met it reports it as its fault. */
export function finalFailure(code: string, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code)
}

/** The same, where a later pass may not meet it again. */
export function retryableFailure(code: string, message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, code)
}

/** What Temporal's UI shows of the run, in Markdown. */
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

/** The calls of a proxy of the SDK, each with a summary. */
function callsWithSummaries<A extends object>(
  calls: Readonly<Record<string, WithOptions>>,
  tell: (name: string, args: unknown[]) => string,
): AsyncFunctions<A> {
  const told = new Proxy(calls, {
    get(_, name) {
      if (typeof name !== 'string') throw new TypeError(`an activity is called ${String(name)}; expected a text`)
      return (...args: unknown[]) => calls[name]?.executeWithOptions({ summary: summaryLine(tell(name, args)) }, args)
    },
  })
  return told as unknown as AsyncFunctions<A>
}

function summarize<A extends object>(told: Summaries<A>): (name: string, args: unknown[]) => string {
  const by = new Map<string, unknown>(Object.entries(told))
  return (name, args) => {
    const tell = by.get(name)
    try {
      if (typeof tell === 'function')
        return `${String(Reflect.apply(tell, undefined, args))}${piggybackedEventsText(args[0])}`
    } catch {
      // An object of a user's code may lack what its type promises. A line for people fails no run; the activity says what is wrong.
    }
    return summaryOf(name, args[0])
  }
}

/**
 * Short idempotent calls, run inside the workflow task: one marker in the history each.
 * A few quick tries, no longer than one may take; then the failure is a retryable fault of the pass, and the loop backs off in the journal.
 *
 * @param told what Temporal's UI shows beside each call.
 */
export function shortActivities<A extends object>(told: Summaries<A> = {}): AsyncFunctions<A> {
  const calls = proxyLocalActivities<Calls>({
    startToCloseTimeout: SHORT_MS,
    retry: {
      initialInterval: '50 milliseconds',
      backoffCoefficient: 2,
      maximumInterval: '1 second',
      maximumAttempts: SHORT_TRIES,
    },
  })
  return callsWithSummaries(boundedCalls(calls), summarize(told))
}

const SHORT_MS = 30_000

/** Calls that keep to the time of their step, and hold its task no longer than so. */
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

/** Short calls that nothing could stand in for: tried until they succeed (settle, the end of a run). */
export function endlesslyRetriedActivities<A extends object>(told: Summaries<A> = {}): AsyncFunctions<A> {
  const calls = proxyLocalActivities<Calls>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '50 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
  })
  return callsWithSummaries(calls, summarize(told))
}

export interface LongActivityOptions {
  readonly startToCloseMs: number
  /** A worker that is silent for this long is taken for dead, and the call is given to another. */
  readonly heartbeatMs?: number
  /** Between two tries, unless the failure says otherwise; default 1 s. */
  readonly retryMs?: number
  /** By which each further wait grows; default 1. */
  readonly factor?: number
  /** That no wait exceeds; default a hundred times the first. */
  readonly longestRetryMs?: number
  /** Default without end. */
  readonly attempts?: number
  /** What the calls are about, for Temporal's UI; default what their inputs say. */
  readonly about?: string
  /** The whole line of a call there. */
  readonly summary?: (name: string) => string
}

/** Longer calls as tasks of their own, e.g. to other clusters. The server schedules their retries, which cost no history event. */
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

/** Lines with these fields, and the name of the action that writes them. Nothing is written in a replay. */
export function actionLog(fields: Readonly<Record<string, unknown>>): ActionLog {
  const line =
    (level: keyof ActionLog): ActionLog[keyof ActionLog] =>
    (message, own) => {
      log[level](message, jsonOf({ ...own, ...fields, action: ACTION.getStore() }))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** What leaves the sandbox is copied, and not everything can be. */
function jsonOf(fields: object): Record<string, unknown> {
  try {
    return readJson(writeJson(fields)) as Record<string, unknown>
  } catch (error) {
    return { fields: `no JSON: ${String(error)}` }
  }
}

/** Work in a scope of its own, which can be cancelled without the rest of the run. */
export function startWork<T>(work: () => Promise<T>): StartedWork<T> {
  const scope = new CancellationScope({ cancellable: true })
  return { end: scope.run(work), cancel: () => scope.cancel() }
}

// The reconcile loop of every run: wait for a wake, run one pass, settle it, then end or wait again. A `LoopStrategy`
// (job or level mode) provides pass, settle and end. Source: docs/concepts/architecture.md "How data flows".
//
//   L1. A pass observes first: it never relies on data that an earlier run or another client may have changed.
//   L2. A wake during a pass leads to a pass that starts after it: in this run while it continues, also over continue-as-new; when it ends, in this
//       run or
// the next one, as `LoopStrategy.endsWithPendingWake` says.
//   L3. The loop uses no timers: due time and back-off are stored in the journal. A fault of a pass that an event or a user requested has its own
//       back-off
// and does not count against the namespace's retry rate.
//   L4. Runs of failed or superseded jobs end as Failed, after their rows are closed. They have no retry policy and raise no alarm (`BENIGN`). A bug
//       fails
// the workflow task and the run stays open; the run reports the bug to the worker first, because a failed task is not visible on the object.

import {
  ApplicationFailure,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  proxySinks,
  setHandler,
  TemporalFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import { fitting } from '../byte-limits.ts'
import type { JobInput } from '../job/job.ts'
import type { By } from '../subject.ts'
import { attemptsAfter, type NextPass, nextPass } from '../next-pass.ts'
import type { Outcome } from '../../plan/outcome.ts'
import { throwingStep } from '../../plan/step.ts'
import type { RunFailure } from '../job/run-result.ts'
import type { RunSinks } from '../sinks.ts'
import { currentReplayListener } from './replay-listener.ts'

/** Wake signal: the journal has an event up to `seq` for the object, or (0) a due time. It carries no object: level-triggered, not edge-triggered. */
const wakeSignal = defineSignal<[{ readonly seq: number }]>('wake')

/**
 * The result of a run: a final phase, `Deleted`, `Superseded` (another run has the job), `HandedDown` (another program executes it), `Guarded` (the
 * finalizer was added and no job is requested), or `Converged` in level mode. Values are stored in the journal and in search attributes.
 */
export type RunResult = string

export interface PassReport {
  readonly outcome: Outcome
  /** The run's result; undefined while it continues. */
  readonly result: RunResult | undefined
}

/** The effect of a settled pass on the run. */
export interface Settled {
  readonly result: RunResult | undefined
  /** The run's row in the journal is already closed. */
  readonly isClosed: boolean
}

/** The differences between job mode and level mode. */
export interface LoopStrategy<Report extends PassReport> {
  /** Acquires a permit where passes are limited. False: the run waits until the journal wakes it. */
  acquirePermit?(by: By): Promise<boolean>
  runPass(by: By): Promise<Report>
  /** Writes the result of the pass to the API server and the journal. */
  settle(by: By, report: Report, next: NextPass): Promise<Settled>
  /** Closes the run's row in the journal. @param firstRunID the first run of the continue-as-new chain. */
  close(by: By, result: RunResult, firstRunID: string): Promise<void>
  /**
   * True: the run ends despite a pending wake, because the journal wakes the object of a closed row again. False: it ends only without a pending
   * wake.
   */
  readonly endsWithPendingWake: boolean
  /** The error of a failed run (L4); undefined: the run completes. */
  failure?(result: RunResult): RunFailure | undefined
  /** Values of the run's search attribute besides its object. */
  searchAttributes?(): readonly string[]
  /** Called before continue-as-new. */
  beforeContinueAsNew?(): void
  /** Input fields for the next run, in addition to the current input. */
  carriedInput?(): Pick<JobInput, 'latest'>
}

/** The pending wake: many wakes lead to one pass. */
export interface Wakes {
  /** Wakes for an event or a user, not for a due time. */
  readonly wake: () => void
  readonly isDue: () => void
  readonly isWoken: () => boolean
  /** @returns whether an event or a user was among the wakes. */
  readonly takeWake: () => boolean
}

/** Initially woken: a run starts with a pass. */
export function createWakes(): Wakes {
  let woken = true
  let isOutside = true
  return {
    wake: () => {
      woken = true
      isOutside = true
    },
    isDue: () => {
      woken = true
    },
    isWoken: () => woken,
    takeWake: () => {
      const taken = isOutside
      woken = false
      isOutside = false
      return taken
    },
  }
}

/** Runs passes until the run ends or continues as new. */
export async function loop<Report extends PassReport>(
  input: JobInput,
  wakes: Wakes,
  strategy: LoopStrategy<Report>,
): Promise<RunResult> {
  try {
    return await runPasses(input, wakes, strategy)
  } catch (error) {
    if (error instanceof TemporalFailure || error instanceof ContinueAsNew) throw error
    // Code may throw any value. The SDK would not notice `undefined`, and the run would hang.
    const bug = error instanceof Error ? error : new Error(`the code threw ${valueText(error)}; throw an Error`)
    reportBug(input, bug, throwingStep(error))
    throw bug
  }
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' && value !== null ? 'an object that is no Error' : String(value)
}

const { runs } = proxySinks<RunSinks>()

/** L4 */
function reportBug({ subject, jobID }: JobInput, { name, message, stack = '' }: Error, step: string | undefined): void {
  runs.threw({ subject, jobID, isReplaying: workflowInfo().unsafe.isReplaying, name, message, step, stack })
}

async function runPasses<Report extends PassReport>(
  input: JobInput,
  wakes: Wakes,
  strategy: LoopStrategy<Report>,
): Promise<RunResult> {
  const mayEnd = () => strategy.endsWithPendingWake || !wakes.isWoken()
  let attempts = 0
  const setAttributesOnce = once(() => {
    if (wakes.isWoken()) return false
    upsertRunAttributes(strategy.searchAttributes?.() ?? [])
    return true
  })
  setHandler(wakeSignal, ({ seq }) => {
    if (seq > 0) wakes.wake()
    else wakes.isDue()
  })
  for (let pass = 1; ; pass++) {
    const { workflowId, runId, firstExecutionRunId } = workflowInfo()
    const by = { workflowID: workflowId, runID: runId, pass }
    const isOutside = await waitForPass(by, wakes, strategy)
    const report = await strategy.runPass(by)
    attempts = attemptsAfter(report.outcome, attempts)
    const { result, isClosed } = await strategy.settle(by, report, nextPass(report.outcome, attempts, isOutside))
    if (result !== undefined && mayEnd()) {
      if (!isClosed) await strategy.close(by, result, firstExecutionRunId)
      // A wake that arrived while the row was being closed has been signalled (L2).
      if (mayEnd()) {
        upsertRunAttributes(strategy.searchAttributes?.() ?? [], result)
        return completeOrFail(result, strategy.failure?.(result))
      }
    }
    if (result === undefined) setAttributesOnce()
    // Also with a pending wake: the new run starts with a pass (L2).
    if (workflowInfo().continueAsNewSuggested) {
      strategy.beforeContinueAsNew?.()
      await continueAsNew<(input: JobInput) => Promise<RunResult>>(nextInput(input, strategy))
    }
  }
}

/** Waits for a wake and, where passes are limited, for a permit. @returns whether an event or a user requested the pass. */
async function waitForPass(
  by: By,
  wakes: Wakes,
  strategy: Pick<LoopStrategy<PassReport>, 'acquirePermit'>,
): Promise<boolean> {
  let isOutside = false
  do {
    await condition(wakes.isWoken)
    isOutside = wakes.takeWake() || isOutside
  } while (strategy.acquirePermit !== undefined && !(await strategy.acquirePermit(by)))
  currentReplayListener()?.passBegins(by, isOutside)
  return isOutside
}

/** Without the idle object: the job has started. */
function nextInput(input: JobInput, { carriedInput }: Pick<LoopStrategy<PassReport>, 'carriedInput'>): JobInput {
  const { asked, ...withoutAsked } = input
  return { ...(asked === undefined ? input : withoutAsked), ...carriedInput?.() }
}

/** Calls the function until it returns true. */
function once(act: () => boolean): () => void {
  let isDone = false
  return () => {
    isDone ||= act()
  }
}

/** @throws the error that makes Temporal show the run as Failed (L4). */
function completeOrFail(result: RunResult, failure: RunFailure | undefined): RunResult {
  if (failure === undefined) return result
  const { reason: type, message } = failure
  const failed = ApplicationFailure.create({ type, message, nonRetryable: true, category: 'BENIGN' })
  // The stack would only show this line.
  failed.stack = ''
  throw failed
}

const OUTCOME = { name: 'PawlOutcome', type: 'KEYWORD' } as const
const TREE = { name: 'PawlTree', type: 'KEYWORD_LIST' } as const

/** Sets search attributes: hosted objects, and the result at the end. */
function upsertRunAttributes(names: readonly string[], outcome?: string): void {
  const tree = fitting(names)
  const attributes = [
    ...(outcome === undefined ? [] : [{ key: OUTCOME, value: outcome }]),
    ...(tree.length === 0 ? [] : [{ key: TREE, value: tree }]),
  ]
  if (attributes.length > 0) upsertSearchAttributes(attributes)
}

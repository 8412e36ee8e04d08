// The loop of every run: wait for a wake, run one pass, settle it, end or wait again. Jobs and runs in level mode are courses of it: they say
// what a pass does and who is told of it. Source: docs/architecture.md "How data flows".
//
//   L1. A pass observes first and starts from what it sees: nothing is assumed that an earlier run, or another hand, may have changed.
//   L2. A wake that arrives during a pass leads to a pass that starts after it: of this run while it goes on, also as a new one of its ID;
//       where it ends, of this run or the next, as `Course.endsWoken` says.
//   L3. The loop arms no timers: the next due time goes into the journal's wake row, and so does the back-off. A pass that no due time asked for is
//       told apart: its fault waits for its own back-off, and draws nothing of what the namespace shares.
//   L4. Jobs that failed, or were taken over, are runs that Failed, at their end and not before: their rows are closed by then. Nothing repeats
//       them, as runs have no retry policy, and no alarm is theirs (`BENIGN`). A bug fails the workflow task, and the run stays open; the worker is
//       told of it first, because a task that fails says so to nobody who looks at the object.

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
import type { RunFailure } from '../job/run-result.ts'
import type { RunSinks } from '../sinks.ts'
import { witness } from './replay-listener.ts'

/** A wake: something journaled up to `seq` concerns the subject. Carries no object (a level, not an edge). */
const wakeSignal = defineSignal<[{ readonly seq: number }]>('wake')

/**
 * How a run ended: a final phase, `Deleted` when the subject is gone, `Superseded` when the job is another run's, `HandedDown` when another
 * program does it, `Guarded` when the subject has its finalizer now and asks for no job; `Converged` in level mode.
 */
export type RunResult = string

export interface PassReport {
  readonly outcome: Outcome
  /** How the run ends; undefined while it goes on. */
  readonly result: RunResult | undefined
}

/** What a settled pass means for the run. */
export interface Settled {
  readonly result: RunResult | undefined
  /** The run's row in the journal is closed already. */
  readonly isClosed: boolean
}

/** What differs between the runs of jobs and of controllers in level mode. */
export interface LoopStrategy<Report extends PassReport> {
  /** Where passes take turns: false when the next one may not begin; then the run is woken when it may. */
  acquirePermit?(by: By): Promise<boolean>
  runPass(by: By): Promise<Report>
  /** Tells the world and the journal what the pass came to. */
  settle(by: By, report: Report, next: NextPass): Promise<Settled>
  /** Closes the run's row in the journal. @param firstRunID of the first run of this ID that goes on in this one. */
  close(by: By, result: RunResult, firstRunID: string): Promise<void>
  /** Ends in spite of a wake: the journal wakes the subject of a closed row anew. Otherwise a run ends only when no wake is there. */
  readonly endsWithPendingWake: boolean
  /** Why a run that ended so is one that failed (L4); undefined: it completes. */
  failure?(result: RunResult): RunFailure | undefined
  /** Names and uids by which people find the run, beside its subject's. */
  searchAttributes?(): readonly string[]
  /** Before the run gives way to the next one of its ID. */
  beforeContinueAsNew?(): void
  /** What that is told, beside what this one was. */
  carriedInput?(): Pick<JobInput, 'latest'>
}

/** The level that the loop waits for: one or ten wakes lead to one pass. */
export interface Wakes {
  /** Something has come from outside of the run's own due times. */
  readonly wake: () => void
  readonly isDue: () => void
  readonly isWoken: () => boolean
  /** @returns whether anything from outside was among it. */
  readonly takeWake: () => boolean
}

/** Woken from the start: a run begins with a pass. */
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

/** Runs passes until the run ends or gives way to the next one of its ID. */
export async function loop<Report extends PassReport>(
  input: JobInput,
  wakes: Wakes,
  course: LoopStrategy<Report>,
): Promise<RunResult> {
  try {
    return await runPasses(input, wakes, course)
  } catch (error) {
    reportBug(input, error)
    throw error
  }
}

const { runs } = proxySinks<RunSinks>()

/** L4 */
function reportBug({ subject, jobID }: JobInput, error: unknown): void {
  if (error instanceof TemporalFailure || error instanceof ContinueAsNew) return
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  runs.threw({ subject, jobID, isReplaying: workflowInfo().unsafe.isReplaying, name, message, stack })
}

async function runPasses<Report extends PassReport>(
  input: JobInput,
  wakes: Wakes,
  course: LoopStrategy<Report>,
): Promise<RunResult> {
  const mayEnd = () => course.endsWithPendingWake || !wakes.isWoken()
  let attempts = 0
  const tellOnce = once(() => {
    if (wakes.isWoken()) return false
    upsertRunAttributes(course.searchAttributes?.() ?? [])
    return true
  })
  setHandler(wakeSignal, ({ seq }) => {
    if (seq > 0) wakes.wake()
    else wakes.isDue()
  })
  for (let pass = 1; ; pass++) {
    const { workflowId, runId, firstExecutionRunId } = workflowInfo()
    const by = { workflowID: workflowId, runID: runId, pass }
    const isOutside = await waitForPass(by, wakes, course)
    const report = await course.runPass(by)
    attempts = attemptsAfter(report.outcome, attempts)
    const { result, isClosed } = await course.settle(by, report, nextPass(report.outcome, attempts, isOutside))
    if (result !== undefined && mayEnd()) {
      if (!isClosed) await course.close(by, result, firstExecutionRunId)
      // Looked at again: what came while the row was closed has been signalled (L2).
      if (mayEnd()) {
        upsertRunAttributes(course.searchAttributes?.() ?? [], result)
        return completeOrFail(result, course.failure?.(result))
      }
    }
    if (result === undefined) tellOnce()
    // Also when a wake is pending: the new run begins with a pass (L2).
    if (workflowInfo().continueAsNewSuggested) {
      course.beforeContinueAsNew?.()
      await continueAsNew<(input: JobInput) => Promise<RunResult>>(nextInput(input, course))
    }
  }
}

/** Waits for a wake, and where passes take turns for that of this one. @returns whether anything from outside asked for it. */
async function waitForPass(
  by: By,
  wakes: Wakes,
  course: Pick<LoopStrategy<PassReport>, 'acquirePermit'>,
): Promise<boolean> {
  let isOutside = false
  do {
    await condition(wakes.isWoken)
    isOutside = wakes.takeWake() || isOutside
  } while (course.acquirePermit !== undefined && !(await course.acquirePermit(by)))
  witness()?.passBegins(by, isOutside)
  return isOutside
}

/** The job has begun. */
function nextInput(
  input: JobInput,
  { carriedInput: carried }: Pick<LoopStrategy<PassReport>, 'carriedInput'>,
): JobInput {
  const { asked, ...others } = input
  return { ...(asked === undefined ? input : others), ...carried?.() }
}

/** Until the act says that it is done. */
function once(act: () => boolean): () => void {
  let isDone = false
  return () => {
    isDone ||= act()
  }
}

/** @throws what Temporal shows as a Failed run (L4). */
function completeOrFail(result: RunResult, failure: RunFailure | undefined): RunResult {
  if (failure === undefined) return result
  const { reason: type, message } = failure
  const ended = ApplicationFailure.create({ type, message, nonRetryable: true, category: 'BENIGN' })
  // It would only say where this line is.
  ended.stack = ''
  throw ended
}

const OUTCOME = { name: 'PawlOutcome', type: 'KEYWORD' } as const
const TREE = { name: 'PawlTree', type: 'KEYWORD_LIST' } as const

/** What people find the run by: what it hosts, and how it ended, once it has. */
function upsertRunAttributes(names: readonly string[], outcome?: string): void {
  const tree = fitting(names)
  const attributes = [
    ...(outcome === undefined ? [] : [{ key: OUTCOME, value: outcome }]),
    ...(tree.length === 0 ? [] : [{ key: TREE, value: tree }]),
  ]
  if (attributes.length > 0) upsertSearchAttributes(attributes)
}

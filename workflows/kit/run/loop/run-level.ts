// The run of a controller in level mode: passes over one object until it has converged. A later event starts the next run with the same workflow ID.
// Source: docs/concepts/architecture.md "Subjects and routes", docs/adr/0011.
//
//   V1. A pass observes the target and all states again and relies on nothing of earlier passes.
//   V2. A run converges when the outcome is exactly `done`. A stop, a requested pass or a fault keeps the run open.
//   V3. A run ends only without a pending wake: it has no next job that a wake could start.
//   V4. The finalizer is added before the first action and removed only after `onDelete` is `done`, or when the object does not need it. If another
//       client removes it, `onGone` runs instead.
//   V5. After twenty immediate passes in a row, further passes are at least one second apart.
//   V6. Where the controller limits its passes, each pass acquires a permit before it observes, because older state would be outdated. A run without
//       permit
// completes its workflow task and waits for a signal, so that runs with a permit find a free worker.

import { type LevelController, needsFinalizerOf, sentTarget } from '../level/define-level.ts'
import type { JobInput } from '../job/job.ts'
import { type LatestTime, latestTime } from '../level/latest-time.ts'
import { CALM_MS, type NextPass } from '../next-pass.ts'
import type { By } from '../subject.ts'
import type { LevelActivities, LevelJournal, Observed } from '../level/level-activities.ts'
import { durationText } from '../../plan/duration-text.ts'
import { done, isDone, wishedMs } from '../../plan/outcome.ts'
import { nop } from '../../plan/step.ts'
import { LEVEL_SUMMARIES, inlineCode } from '../temporal-ui.ts'
import { createPiggybackedEvents } from './level-acts.ts'
import { queriesOf, runLevelSteps, type ObservedPass } from './level-pass.ts'
import { type LoopStrategy, createWakes, loop, type PassReport, type RunResult } from './loop.ts'
import { runTime } from './deadlines.ts'
import { attempt, endlesslyRetriedActivities, shortActivities, showDetails } from './temporal.ts'

/** The limit of passes in a row with a delay below `CALM_MS` (V5). */
const MAX_IMMEDIATE_PASSES = 20

/** The plan is `done`. */
const CONVERGED = 'Converged'
/** The object was deleted, or has a deletionTimestamp and no finalizer of the controller. */
const DELETED = 'Deleted'

const WAITS_FOR_TURN = '- waits for a permit: the controller runs as many passes as settings.passes allows'

/** Runs a controller for one object until it has converged or was deleted. */
export async function runLevel(controller: LevelController, input: JobInput): Promise<RunResult> {
  return await loop(input, createWakes(), levelStrategy(controller, input))
}

function levelStrategy(
  controller: LevelController,
  { subject, cause, latest: before }: JobInput,
): LoopStrategy<PassReport> {
  const { takeTurn, settleLevel, endLevel } = endlesslyRetriedActivities<LevelJournal>(LEVEL_SUMMARIES)
  const { settings } = controller
  const target = sentTarget(controller.target)
  const piggybacked = createPiggybackedEvents()
  const time = createTimeTracker(before)
  let immediatePasses = 0
  return {
    // V6
    ...(settings?.passes !== undefined && {
      async acquirePermit(by: By) {
        const isTurn = await takeTurn({ by, subject })
        if (!isTurn) showDetails(WAITS_FOR_TURN)
        return isTurn
      },
    }),
    async runPass(by) {
      const report = await runPass(controller, { subject, by, piggybacked, time })
      showDetails(details(report))
      return report
    },
    async settle(by, { result }, next) {
      if (result !== undefined) return { result, isClosed: false }
      immediatePasses = isImmediate(next) ? immediatePasses + 1 : 0
      const againMs = immediatePasses > MAX_IMMEDIATE_PASSES ? CALM_MS : next.againMs
      await settleLevel({ by, subject, target, ...piggybacked.take(), ...next, againMs })
      return { result, isClosed: false }
    },
    close: async (by, outcome, firstRunID) =>
      await endLevel({ by, firstRunID, subject, target, ...piggybacked.take(), cause, outcome }),
    carriedInput: () => time.carried(),
    // V3
    endsWithPendingWake: false,
  }
}

/** The latest known time, over the passes of a run. */
interface TimeTracker {
  readonly see: (observed: Observed) => LatestTime
  /** For the run after continue-as-new. */
  readonly carried: () => Pick<JobInput, 'latest'>
}

function createTimeTracker(before: LatestTime | undefined): TimeTracker {
  let latest = before
  return {
    see: ({ clocks }) => (latest = latestTime(runTime().getTime(), clocks, latest)),
    carried: () => (latest === undefined ? {} : { latest }),
  }
}

interface PassContext extends Pick<ObservedPass, 'subject' | 'by' | 'piggybacked'> {
  readonly time: TimeTracker
}

async function runPass(controller: LevelController, { time, ...context }: PassContext): Promise<PassReport> {
  const { subject, by } = context
  const base = { by, subject, target: sentTarget(controller.target) }
  const { observeLevel } = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const evenGone = controller.onGone !== undefined && ({ evenGone: true } as const)
  const observed = await attempt(() => observeLevel({ ...base, queries: queriesOf(controller), ...evenGone }))
  if ('outcome' in observed) return { outcome: observed.outcome, result: undefined }
  return observed.value === undefined
    ? GONE
    : await runByDeletionState(controller, { ...context, observed: observed.value, latest: time.see(observed.value) })
}

async function runByDeletionState(controller: LevelController, pass: ObservedPass): Promise<PassReport> {
  const { target, isGone = false } = pass.observed
  const { deletionTimestamp, finalizers = [] } = target.metadata
  const hasFinalizer = controller.finalizer !== undefined && finalizers.includes(controller.finalizer)
  if (isGone || (deletionTimestamp !== undefined && !hasFinalizer)) return await runAfterDeletion(controller, pass)
  if (deletionTimestamp !== undefined) return await runDeletion(controller, pass)
  return await runWithFinalizer(controller, pass, hasFinalizer)
}

/** V4 */
async function runWithFinalizer(controller: LevelController, pass: ObservedPass, hasFinalizer: boolean) {
  const isNeeded = needsFinalizerOf(controller, pass.observed.target)
  if (hasFinalizer === isNeeded) return await runPlan(controller, pass)
  const changed = await changeFinalizer(controller, pass, isNeeded)
  if ('outcome' in changed) return { outcome: changed.outcome, result: undefined }
  if (changed.value === undefined) return GONE
  return await runPlan(controller, { ...pass, observed: { ...pass.observed, target: changed.value } })
}

const GONE: PassReport = { outcome: done, result: DELETED }

async function runPlan(controller: LevelController, pass: ObservedPass): Promise<PassReport> {
  const outcome = await runLevelSteps(controller, controller.plan, pass)
  return { outcome, result: isDone(outcome) ? CONVERGED : undefined }
}

async function runDeletion(controller: LevelController, pass: ObservedPass): Promise<PassReport> {
  const outcome = await runLevelSteps(controller, controller.onDelete ?? nop, pass)
  if (!isDone(outcome)) return { outcome, result: undefined }
  const released = await changeFinalizer(controller, pass, false)
  return 'outcome' in released ? { outcome: released.outcome, result: undefined } : GONE
}

async function runAfterDeletion(controller: LevelController, pass: ObservedPass): Promise<PassReport> {
  // Hooks might read fields that are no longer known.
  const outcome = await runLevelSteps({ ...controller, hooks: undefined }, controller.onGone ?? nop, pass)
  return isDone(outcome) ? GONE : { outcome, result: undefined }
}

async function changeFinalizer(controller: LevelController, pass: ObservedPass, guarded: boolean) {
  const { finalizer = '' } = controller
  const target = sentTarget(controller.target)
  const { finalizeLevel } = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const { by, subject, piggybacked } = pass
  const version = pass.observed.target.metadata.resourceVersion
  return await attempt(() => finalizeLevel({ by, subject, target, ...piggybacked.take(), version, finalizer, guarded }))
}

/** Also after final faults and after conflicts: only a back-off delays by itself. */
function isImmediate({ againMs, attempt }: NextPass): boolean {
  return attempt === 0 && againMs !== undefined && againMs < CALM_MS
}

// Temporal limits details to 20,000 bytes.
const LONGEST_MESSAGE = 1000

/** Details for the Temporal UI. */
function details({ outcome, result }: PassReport): string {
  if (result !== undefined) return result
  const { faults, stopped } = outcome
  const wished = wishedMs(outcome)
  const lines = [
    ...faults.map(
      ({ code, message, retryable }) =>
        `- ${retryable ? 'retries' : 'waits for a change'}: ${code}: ${inlineCode(message, LONGEST_MESSAGE)}`,
    ),
    ...(stopped === undefined ? [] : [`- waits: ${stopped}`]),
    ...(wished === undefined ? [] : [`- next pass in ${durationText(wished)}`]),
  ]
  return lines.join('\n')
}

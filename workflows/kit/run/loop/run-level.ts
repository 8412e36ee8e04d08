// The run of a controller in level mode: passes over one object until it has converged. A later event starts the next run, under the
// same workflow ID. Source: docs/architecture.md "Subjects and routes", docs/adr/0011.
//
//   V1. A pass observes the target and all states anew. Nothing of an earlier pass is relied upon.
//   V2. Converged is an outcome that is `done` and nothing else. A stop, a wish for another pass or a fault keeps the run open.
//   V3. A run ends only when no wake is there: it has no next job that a wake could lead to.
//   V4. The finalizer is on the object before the first action, and off only after `onDelete` came to `done`. Where somebody else takes it off, `onGone` does
//       what is left to do.
//   V5. Nobody runs in circles: a plan that wishes for pass after pass at once gets one a second, after the first twenty.
//   V6. Where the controller bounds its passes, each asks for its turn first, and observes after that: what was seen before a long wait is old. A run whose
//       turn it is not gives its workflow task back and waits for a signal, so that those who have a turn find a free worker.

import { type LevelController, sentTarget } from '../level/define-level.ts'
import type { JobInput } from '../job/job.ts'
import { type LatestTime, latestTime } from '../level/latest-time.ts'
import { CALM_MS, type NextPass } from '../next-pass.ts'
import type { By } from '../subject.ts'
import type { LevelActivities, LevelJournal, Observed } from '../level/level-activities.ts'
import { done, isDone, wishedMs } from '../../plan/outcome.ts'
import { nop } from '../../plan/step.ts'
import { duration, LEVEL_SUMMARIES, inlineCode } from '../temporal-ui.ts'
import { createPiggybackedEvents } from './level-acts.ts'
import { queriesOf, runLevelSteps, type ObservedPass } from './level-pass.ts'
import { type LoopStrategy, createWakes, loop, type PassReport, type RunResult } from './loop.ts'
import { runTime } from './deadlines.ts'
import { attempt, endlesslyRetriedActivities, shortActivities, showDetails } from './temporal.ts'

/** So many passes in a row may wish for the next one in less than `CALM_MS`; who goes on so does not converge, and waits that long (V5). */
const MOST_HURRIED = 20

/** The object has converged: its plan came to `done`. */
const CONVERGED = 'Converged'
/** The object is gone, or is going and nothing of ours holds it. */
const DELETED = 'Deleted'

const WAITS_FOR_TURN = '- waits for its turn: as many passes of its controller are under way as may be'

/** Runs a controller for one object, until it has converged or is gone. */
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
  const along = createPiggybackedEvents()
  const time = createTimeTracker(before)
  let hurried = 0
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
      const report = await runPass(controller, { subject, by, along, time })
      showDetails(details(report))
      return report
    },
    async settle(by, { result }, next) {
      if (result !== undefined) return { result, isClosed: false }
      hurried = isImmediate(next) ? hurried + 1 : 0
      const againMs = hurried > MOST_HURRIED ? CALM_MS : next.againMs
      await settleLevel({ by, subject, target, ...along.take(), ...next, againMs })
      return { result, isClosed: false }
    },
    close: async (by, outcome, firstRunID) =>
      await endLevel({ by, firstRunID, subject, target, ...along.take(), cause, outcome }),
    carriedInput: () => time.carried(),
    // V3
    endsWithPendingWake: false,
  }
}

/** What time it is at the latest, from pass to pass of a run. */
interface TimeTracker {
  readonly see: (observed: Observed) => LatestTime
  /** For the run that goes on. */
  readonly carried: () => Pick<JobInput, 'latest'>
}

function createTimeTracker(before: LatestTime | undefined): TimeTracker {
  let latest = before
  return {
    see: ({ clocks }) => (latest = latestTime(runTime().getTime(), clocks, latest)),
    carried: () => (latest === undefined ? {} : { latest }),
  }
}

interface Passing extends Pick<ObservedPass, 'subject' | 'by' | 'along'> {
  readonly time: TimeTracker
}

async function runPass(controller: LevelController, { time, ...passing }: Passing): Promise<PassReport> {
  const { subject, by } = passing
  const base = { by, subject, target: sentTarget(controller.target) }
  const { observeLevel } = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const evenGone = controller.onGone !== undefined && ({ evenGone: true } as const)
  const looked = await attempt(() => observeLevel({ ...base, queries: queriesOf(controller), ...evenGone }))
  if ('outcome' in looked) return { outcome: looked.outcome, result: undefined }
  return looked.value === undefined
    ? GONE
    : await runByDeletionState(controller, { ...passing, observed: looked.value, latest: time.see(looked.value) })
}

async function runByDeletionState(controller: LevelController, seen: ObservedPass): Promise<PassReport> {
  const { target, isGone = false } = seen.observed
  const { deletionTimestamp, finalizers = [] } = target.metadata
  const isHeld = controller.finalizer !== undefined && finalizers.includes(controller.finalizer)
  if (isGone || (deletionTimestamp !== undefined && !isHeld)) return await runAfterDeletion(controller, seen)
  if (deletionTimestamp !== undefined) return await runDeletion(controller, seen)
  if (isHeld || controller.finalizer === undefined) return await runPlan(controller, seen)
  // V4
  const held = await changeFinalizer(controller, seen, true)
  if ('outcome' in held) return { outcome: held.outcome, result: undefined }
  if (held.value === undefined) return GONE
  return await runPlan(controller, { ...seen, observed: { ...seen.observed, target: held.value } })
}

const GONE: PassReport = { outcome: done, result: DELETED }

async function runPlan(controller: LevelController, seen: ObservedPass): Promise<PassReport> {
  const outcome = await runLevelSteps(controller, controller.plan, seen)
  return { outcome, result: isDone(outcome) ? CONVERGED : undefined }
}

async function runDeletion(controller: LevelController, seen: ObservedPass): Promise<PassReport> {
  const outcome = await runLevelSteps(controller, controller.onDelete ?? nop, seen)
  if (!isDone(outcome)) return { outcome, result: undefined }
  const released = await changeFinalizer(controller, seen, false)
  return 'outcome' in released ? { outcome: released.outcome, result: undefined } : GONE
}

async function runAfterDeletion(controller: LevelController, seen: ObservedPass): Promise<PassReport> {
  // Hooks may ask for what is not known any more.
  const outcome = await runLevelSteps({ ...controller, hooks: undefined }, controller.onGone ?? nop, seen)
  return isDone(outcome) ? GONE : { outcome, result: undefined }
}

async function changeFinalizer(controller: LevelController, seen: ObservedPass, guarded: boolean) {
  const { finalizer = '' } = controller
  const target = sentTarget(controller.target)
  const { finalizeLevel } = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const { by, subject, along } = seen
  const version = seen.observed.target.metadata.resourceVersion
  return await attempt(() => finalizeLevel({ by, subject, target, ...along.take(), version, finalizer, guarded }))
}

/** Also beside final faults, and after passes that looked at older objects again and again: only a back-off is calm by itself. */
function isImmediate({ againMs, attempt }: NextPass): boolean {
  return attempt === 0 && againMs !== undefined && againMs < CALM_MS
}

// Details have at most 20,000 bytes.
const LONGEST_MESSAGE = 1000

/** For people who look at the run in Temporal's UI. */
function details({ outcome, result }: PassReport): string {
  if (result !== undefined) return result
  const { faults, stopped } = outcome
  const wished = wishedMs(outcome)
  const lines = [
    ...faults.map(
      ({ code, message, retryable }) =>
        `- ${retryable ? 'tries again' : 'waits for a change'}: ${code}: ${inlineCode(message, LONGEST_MESSAGE)}`,
    ),
    ...(stopped === undefined ? [] : [`- waits: ${stopped}`]),
    ...(wished === undefined ? [] : [`- looks again in ${duration(wished)}`]),
  ]
  return lines.join('\n')
}

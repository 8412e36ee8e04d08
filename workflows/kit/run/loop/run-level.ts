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

import { type LevelController, sentTarget } from '../define-level.ts'
import type { JobInput } from '../job.ts'
import { type Latest, latestOf } from '../latest.ts'
import { CALM_MS, type NextPass } from '../next-pass.ts'
import type { By } from '../subject.ts'
import type { LevelActivities, LevelJournal, Observed } from '../level-activities.ts'
import { done, isDone, wishedMs } from '../../plan/outcome.ts'
import { nop } from '../../plan/step.ts'
import { quoted } from '../markdown.ts'
import { duration, LEVEL_TOLD } from '../summaries.ts'
import { createAlong } from './along.ts'
import { queriesOf, runSteps, type Seen } from './level-pass.ts'
import { type Course, createWakes, loop, type PassReport, type RunResult } from './loop.ts'
import { runTime } from './run-time.ts'
import { attempt, insistentActivities, shortActivities, showDetails } from './temporal.ts'

/** So many passes in a row may wish for the next one in less than `CALM_MS`; who goes on so does not converge, and waits that long (V5). */
const MOST_HURRIED = 20

/** The object has converged: its plan came to `done`. */
const CONVERGED = 'Converged'
/** The object is gone, or is going and nothing of ours holds it. */
const DELETED = 'Deleted'

const WAITS_FOR_TURN = '- waits for its turn: as many passes of its controller are under way as may be'

/** Runs a controller for one object, until it has converged or is gone. */
export async function runLevel(controller: LevelController, input: JobInput): Promise<RunResult> {
  return await loop(input, createWakes(), levelCourse(controller, input))
}

function levelCourse(controller: LevelController, { subject, cause, latest: before }: JobInput): Course<PassReport> {
  const { takeTurn, settleLevel, endLevel } = insistentActivities<LevelJournal>(LEVEL_TOLD)
  const { settings } = controller
  const target = sentTarget(controller.target)
  const along = createAlong()
  const time = createTime(before)
  let hurried = 0
  return {
    // V6
    ...(settings?.passes !== undefined && {
      async mayBegin(by: By) {
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
      hurried = isHurried(next) ? hurried + 1 : 0
      const againMs = hurried > MOST_HURRIED ? CALM_MS : next.againMs
      await settleLevel({ by, subject, target, ...along.take(), ...next, againMs })
      return { result, isClosed: false }
    },
    close: async (by, outcome, firstRunID) =>
      await endLevel({ by, firstRunID, subject, target, ...along.take(), cause, outcome }),
    carried: () => time.carried(),
    // V3
    endsWoken: false,
  }
}

/** What time it is at the latest, from pass to pass of a run. */
interface Time {
  readonly see: (observed: Observed) => Latest
  /** For the run that goes on. */
  readonly carried: () => Pick<JobInput, 'latest'>
}

function createTime(before: Latest | undefined): Time {
  let latest = before
  return {
    see: ({ clocks }) => (latest = latestOf(runTime().getTime(), clocks, latest)),
    carried: () => (latest === undefined ? {} : { latest }),
  }
}

interface Passing extends Pick<Seen, 'subject' | 'by' | 'along'> {
  readonly time: Time
}

async function runPass(controller: LevelController, { time, ...passing }: Passing): Promise<PassReport> {
  const { subject, by } = passing
  const base = { by, subject, target: sentTarget(controller.target) }
  const { observeLevel } = shortActivities<LevelActivities>(LEVEL_TOLD)
  const evenGone = controller.onGone !== undefined && ({ evenGone: true } as const)
  const looked = await attempt(() => observeLevel({ ...base, queries: queriesOf(controller), ...evenGone }))
  if ('outcome' in looked) return { outcome: looked.outcome, result: undefined }
  return looked.value === undefined
    ? GONE
    : await passOver(controller, { ...passing, observed: looked.value, latest: time.see(looked.value) })
}

async function passOver(controller: LevelController, seen: Seen): Promise<PassReport> {
  const { target, isGone = false } = seen.observed
  const { deletionTimestamp, finalizers = [] } = target.metadata
  const isHeld = controller.finalizer !== undefined && finalizers.includes(controller.finalizer)
  if (isGone || (deletionTimestamp !== undefined && !isHeld)) return await runGone(controller, seen)
  if (deletionTimestamp !== undefined) return await runDeletion(controller, seen)
  if (isHeld || controller.finalizer === undefined) return await runPlan(controller, seen)
  // V4
  const held = await finalize(controller, seen, true)
  if ('outcome' in held) return { outcome: held.outcome, result: undefined }
  if (held.value === undefined) return GONE
  return await runPlan(controller, { ...seen, observed: { ...seen.observed, target: held.value } })
}

const GONE: PassReport = { outcome: done, result: DELETED }

async function runPlan(controller: LevelController, seen: Seen): Promise<PassReport> {
  const outcome = await runSteps(controller, controller.plan, seen)
  return { outcome, result: isDone(outcome) ? CONVERGED : undefined }
}

async function runDeletion(controller: LevelController, seen: Seen): Promise<PassReport> {
  const outcome = await runSteps(controller, controller.onDelete ?? nop, seen)
  if (!isDone(outcome)) return { outcome, result: undefined }
  const released = await finalize(controller, seen, false)
  return 'outcome' in released ? { outcome: released.outcome, result: undefined } : GONE
}

async function runGone(controller: LevelController, seen: Seen): Promise<PassReport> {
  // Hooks may ask for what is not known any more.
  const outcome = await runSteps({ ...controller, hooks: undefined }, controller.onGone ?? nop, seen)
  return isDone(outcome) ? GONE : { outcome, result: undefined }
}

async function finalize(controller: LevelController, seen: Seen, guarded: boolean) {
  const { finalizer = '' } = controller
  const target = sentTarget(controller.target)
  const { finalizeLevel } = shortActivities<LevelActivities>(LEVEL_TOLD)
  const { by, subject, along } = seen
  const version = seen.observed.target.metadata.resourceVersion
  return await attempt(() => finalizeLevel({ by, subject, target, ...along.take(), version, finalizer, guarded }))
}

/** Also beside final faults, and after passes that looked at older objects again and again: only a back-off is calm by itself. */
function isHurried({ againMs, attempt }: NextPass): boolean {
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
        `- ${retryable ? 'tries again' : 'waits for a change'}: ${code}: ${quoted(message, LONGEST_MESSAGE)}`,
    ),
    ...(stopped === undefined ? [] : [`- waits: ${stopped}`]),
    ...(wished === undefined ? [] : [`- looks again in ${duration(wished)}`]),
  ]
  return lines.join('\n')
}

// What a pass over a DisruptionCron does. Source: spec/chaos.md 2.12 "Flow".

import { action, again, done, fail, later, type Outcome, sequential } from '../../kit/index.ts'
import { configOf } from '../config.ts'
import { DISRUPTION_CRON_KIND } from '../contract.ts'
import { specProblemsText } from '../disruption/rules/spec.ts'
import { eventManifest } from '../event-manifest.ts'
import { instantMs, instantText } from '../instant.ts'
import { missingTarget } from '../missing-target.ts'
import { type Child, endChildren, isHeldBack, makeChild, obeySwitch, toleranceMsOf } from '../parent-pass.ts'
import { scheduledAtMs } from '../child-disruption.ts'
import { EXPECTED_SCHEDULE, readSchedule } from '../schedule.ts'
import { cronDecision, type CronDecision, withHistory } from './due.ts'
import { type CronPass, targetIn } from './pass.ts'
import { cronProblems } from './rules/cron.ts'

/** Each state of the spec that is seen is told once. */
const tellSpec = action<CronPass>('tellSpec', async ({ target, status, act }): Promise<Outcome> => {
  const { generation } = target.metadata
  const known = target.status?.observedGeneration
  if (known === generation) return done
  status.observedGeneration = generation
  const { kind, name } = target.spec.targetResource
  const message = `a Disruption of ${kind} ${name} at ${target.spec.schedule}${target.spec.paused === true ? ', paused' : ''}`
  const reason = known === undefined ? 'DisruptionCronCreated' : 'DisruptionCronUpdated'
  const annotations = eventManifest(DISRUPTION_CRON_KIND, target, target.spec)
  await act.event({ type: 'Normal', reason, message, annotations, occasion: String(generation) })
  return done
})

/** Remembers when the schedule was edited (due.ts, D4). Older versions stored no schedule: when they have observed this generation, the schedule was not edited. */
const keepSchedule = action<CronPass>('keepSchedule', ({ target, status, now }): Outcome => {
  const { observedSchedule, observedGeneration } = target.status ?? {}
  const { schedule } = target.spec
  if (observedSchedule === schedule) return done
  status.observedSchedule = schedule
  const isNew = observedGeneration === undefined
  const isSeen = observedSchedule === undefined && observedGeneration === target.metadata.generation
  if (!isNew && !isSeen) status.scheduleEditedTime = instantText(now.getTime())
  return done
})

const mindTarget = action<CronPass>('mindTarget', async (pass): Promise<Outcome> => {
  const { target, status, act, now } = pass
  const { targetResourceMissingThresholdMs: thresholdMs } = configOf(pass).controller
  const isThere = targetIn(pass) !== undefined
  const known = target.status?.targetResourcePreviouslyMissing
  const { since, isGivenUp } = missingTarget(isThere, known, { nowMs: now.getTime(), thresholdMs })
  if (isGivenUp) {
    const { kind, name } = target.spec.targetResource
    const message = `${kind} ${name} is missing since ${since ?? ''}, so the cron is deleted`
    await act.event({ type: 'Warning', reason: 'DisruptionCronTargetMissing', message })
    await act.remove(target)
    // Its own deletion wakes no run.
    return again(0)
  }
  status.targetResourcePreviouslyMissing = since ?? null
  const sinceMs = instantMs(since)
  return sinceMs === undefined ? done : later(sinceMs + thresholdMs + 1 - now.getTime())
})

const checkSpec = action<CronPass>('checkSpec', ({ target }): Outcome => {
  const problems = cronProblems(target)
  return problems.length === 0 ? done : fail('InvalidSpec', specProblemsText(problems))
})

/** As users read it. */
const SKIPPED = { 'target missing': 'TargetMissing', 'still there': 'StillThere', 'too late': 'TooLate' } as const

const runDue = action<CronPass>('runDue', async (pass): Promise<Outcome> => {
  const { status, now } = pass
  const decision = decisionIn(pass)
  if (decision === undefined) return fail('InvalidSpec', `spec.schedule: expected ${EXPECTED_SCHEDULE}`)
  const { nextMs } = decision
  sayTimes(pass, decision)
  const next = nextMs === undefined ? done : later(nextMs - now.getTime())
  if (!('forMs' in decision)) return next
  const { forMs } = decision
  const found = targetIn(pass)
  if (decision.run !== 'now' || found === undefined) {
    passOver(pass, forMs, decision.run === 'now' ? 'target missing' : decision.run)
    return next
  }
  if (await isHeldBack(pass)) return next
  const made = await makeChild(pass, found.selector, forMs)
  if ('fault' in made) return made.fault
  status.lastScheduleTime = instantText(forMs)
  if (made.child !== undefined) rememberChildren(pass, [made.child])
  return next
})

/** What the status says of the schedule, whatever comes of this pass. */
function sayTimes(pass: CronPass, { run, lastMs, nextMs }: CronDecision): void {
  const { target, state, status, now } = pass
  rememberChildren(pass, state.children)
  if (lastMs !== undefined && run !== 'now') status.lastScheduleTime = instantText(lastMs)
  status.nextScheduleTime = nextMs === undefined ? null : instantText(nextMs)
  status.pausedSince = run === 'paused' ? (target.status?.pausedSince ?? instantText(now.getTime())) : null
}

function passOver({ target, status, log }: CronPass, forMs: number, why: keyof typeof SKIPPED): void {
  status.lastSkippedTime = instantText(forMs)
  status.lastSkippedReason = SKIPPED[why]
  log.warn('a Disruption is not made', { cron: target.metadata.name, for: instantText(forMs), why })
}

/** Undefined for a schedule that is none. */
function decisionIn(pass: CronPass): CronDecision | undefined {
  const { target, state, now } = pass
  const schedule = readSchedule(target.spec.schedule)
  const { lastScheduleTime, lastSkippedTime, scheduleEditedTime } = { ...target.status, ...pass.status }
  if (schedule === undefined) return undefined
  return cronDecision({
    schedule,
    createdMs: instantMs(target.metadata.creationTimestamp) ?? now.getTime(),
    editedMs: instantMs(scheduleEditedTime),
    lastMs: instantMs(lastScheduleTime),
    skippedMs: instantMs(lastSkippedTime),
    children: state.children.map(scheduledAtMs),
    nowMs: now.getTime(),
    toleranceMs: toleranceMsOf(pass),
    isPaused: target.spec.paused === true,
    isTargetThere: targetIn(pass) !== undefined,
  })
}

/** Each is in the history once, whether it was written down when it was made or not (due.ts, D2); of two that were made in one second one is. */
function rememberChildren({ target, status }: Pick<CronPass, 'target' | 'status'>, children: readonly Child[]): void {
  const history = target.status?.history ?? []
  const unknown = children.filter(
    ({ metadata }) => !history.some(({ createdAt }) => createdAt === metadata.creationTimestamp),
  )
  if (unknown.length === 0) return
  status.history = unknown.reduce(
    (known, { metadata }) => withHistory(known, metadata.name, metadata.creationTimestamp),
    history,
  )
}

const obeyCronSwitch = obeySwitch<CronPass>('disruptionCronEnabled')

export const followSchedule = sequential(obeyCronSwitch, tellSpec, keepSchedule, mindTarget, checkSpec, runDue)

const tellEnd = action<CronPass>('tellEnd', async ({ target, act, state }): Promise<Outcome> => {
  const rest = state.children.length === 0 ? '' : '; its Disruption goes first'
  const annotations = eventManifest(DISRUPTION_CRON_KIND, target, target.spec)
  await act.event({ type: 'Normal', reason: 'DisruptionCronDeleted', message: `it is deleted${rest}`, annotations })
  return done
})

const endDisruption = action<CronPass>('endDisruption', endChildren)

export const endCron = sequential(tellEnd, endDisruption)

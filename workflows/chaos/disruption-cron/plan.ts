// The plan of a DisruptionCron. Source: spec/chaos.md 2.12 "Flow".

import { action, again, done, fail, later, type Outcome, sequential } from '../../kit/index.ts'
import { configOf } from '../config.ts'
import { DISRUPTION_CRON_KIND, manifestAnnotations } from '../contract.ts'
import { specProblemsText } from '../disruption/rules/spec.ts'
import { timestampMs, timestampText } from '../timestamp.ts'
import { missingTarget, cronDecision, type CronDecision, type SkipReason, withHistory } from './due.ts'
import { skipText } from './explain.ts'
import {
  type Child,
  deleteChildren,
  isBlocked,
  createChild,
  requireEnabled,
  toleranceMsOf,
  type ParentPass,
  parentQueries,
  type ParentState,
} from '../parent-pass.ts'
import { scheduledAtMs, type PodSelector } from '../child-disruption.ts'
import { EXPECTED_SCHEDULE, readSchedule } from '../schedule.ts'
import { cronProblems } from './rules/cron.ts'
import type { Deployment, StatefulSet } from '../../kit/kind/kubernetes/apps/v1.ts'
import type { DisruptionCron } from './kind.ts'

/** The observed part of the target resource: its pod selector. */
export interface CronTarget {
  readonly selector: PodSelector
}

export function cronTargetView({ spec }: Deployment | StatefulSet): CronTarget {
  return { selector: spec?.selector ?? {} }
}

export type CronState = ParentState<CronTarget>
export type CronPass = ParentPass<CronTarget, DisruptionCron>

export const cronQueries = parentQueries('DisruptionCron', cronTargetView)

export function targetIn({ state }: Pick<CronPass, 'state'>): CronTarget | undefined {
  return state.deployment ?? state.statefulSet
}

/** Emits one Event for each generation of the spec. */
const reportSpec = action<CronPass>('tellSpec', async ({ target, status, act }): Promise<Outcome> => {
  const { generation } = target.metadata
  const known = target.status?.observedGeneration
  if (known === generation) return done
  status.observedGeneration = generation
  const { kind, name } = target.spec.targetResource
  const message = `a Disruption of ${kind} ${name} at ${target.spec.schedule}${target.spec.paused === true ? ', paused' : ''}`
  const reason = known === undefined ? 'DisruptionCronCreated' : 'DisruptionCronUpdated'
  const annotations = manifestAnnotations(DISRUPTION_CRON_KIND, target, target.spec)
  await act.event({ type: 'Normal', reason, message, annotations, occasion: String(generation) })
  return done
})

/**
 * Records when the schedule was edited (due.ts, D4). Older versions stored no schedule: when they have observed this
 * generation, the schedule was not edited.
 */
const recordSchedule = action<CronPass>('keepSchedule', ({ target, status, now }): Outcome => {
  const { observedSchedule, observedGeneration } = target.status ?? {}
  const { schedule } = target.spec
  if (observedSchedule === schedule) return done
  status.observedSchedule = schedule
  const isNew = observedGeneration === undefined
  const isSeen = observedSchedule === undefined && observedGeneration === target.metadata.generation
  if (!isNew && !isSeen) status.scheduleEditedTime = timestampText(now.getTime())
  return done
})

const checkTarget = action<CronPass>('mindTarget', async (pass): Promise<Outcome> => {
  const { target, status, act, now } = pass
  const { targetResourceMissingThresholdMs: thresholdMs } = configOf(pass).controller
  const isThere = targetIn(pass) !== undefined
  const known = target.status?.targetResourcePreviouslyMissing
  const { since, isGivenUp } = missingTarget(isThere, known, { nowMs: now.getTime(), thresholdMs })
  if (isGivenUp) {
    const { kind, name } = target.spec.targetResource
    const message = `${kind} "${name}" is missing since ${since ?? ''}, so this DisruptionCron is deleted`
    await act.event({ type: 'Warning', reason: 'DisruptionCronTargetMissing', message })
    await act.remove(target)
    // A controller's own deletion does not wake the run.
    return again(0)
  }
  status.targetResourcePreviouslyMissing = since ?? null
  const sinceMs = timestampMs(since)
  return sinceMs === undefined ? done : later(sinceMs + thresholdMs + 1 - now.getTime())
})

const checkSpec = action<CronPass>('checkSpec', ({ target }): Outcome => {
  const problems = cronProblems(target)
  return problems.length === 0 ? done : fail('InvalidSpec', specProblemsText(problems))
})

const SKIP_REASONS = {
  'target missing': 'TargetMissing',
  'still there': 'StillThere',
  'too late': 'TooLate',
} as const satisfies Readonly<Record<string, SkipReason>>

const createDue = action<CronPass>('runDue', async (pass): Promise<Outcome> => {
  const { status, now } = pass
  const decision = decisionIn(pass)
  if (decision === undefined) return fail('InvalidSpec', `spec.schedule: expected ${EXPECTED_SCHEDULE}`)
  const { nextMs } = decision
  setScheduleStatus(pass, decision)
  const next = nextMs === undefined ? done : later(nextMs - now.getTime())
  if (!('forMs' in decision)) return next
  const { forMs } = decision
  const targetResource = targetIn(pass)
  if (decision.run !== 'now' || targetResource === undefined) {
    await reportSkip(pass, { forMs, nextMs, why: decision.run === 'now' ? 'target missing' : decision.run })
    return next
  }
  if (await isBlocked(pass)) return next
  const result = await createChild(pass, targetResource.selector, forMs)
  if ('fault' in result) return result.fault
  status.lastScheduleTime = timestampText(forMs)
  if (result.child !== undefined) addToHistory(pass, [result.child])
  return next
})

/** Computes the schedule fields of the status. Each pass writes them, also when it creates no Disruption. */
function setScheduleStatus(pass: CronPass, { run, lastMs, nextMs }: CronDecision): void {
  const { target, state, status, now } = pass
  addToHistory(pass, state.children)
  if (lastMs !== undefined && run !== 'now') status.lastScheduleTime = timestampText(lastMs)
  status.nextScheduleTime = nextMs === undefined ? null : timestampText(nextMs)
  status.pausedSince = run === 'paused' ? (target.status?.pausedSince ?? timestampText(now.getTime())) : null
}

interface Skip {
  readonly forMs: number
  readonly nextMs: number | undefined
  readonly why: keyof typeof SKIP_REASONS
}

/**
 * Emits one Event for each skipped time. Only a late start is a Warning: receivers of notifications get each Warning,
 * and the other reasons may repeat every minute.
 */
async function reportSkip({ target, status, act, log }: CronPass, { forMs, nextMs, why }: Skip): Promise<void> {
  const [time, reason] = [timestampText(forMs), SKIP_REASONS[why]]
  status.lastSkippedTime = time
  status.lastSkippedReason = reason
  log.warn('no Disruption is created', { cron: target.metadata.name, for: time, why })
  const { name } = target.metadata
  const cause = skipText(reason, { name, targetResource: target.spec.targetResource })
  const next = nextMs === undefined ? '' : `; next run at ${timestampText(nextMs)}`
  await act.event({
    type: reason === 'TooLate' ? 'Warning' : 'Normal',
    reason: 'DisruptionCronSkipped',
    message: `the run at ${time} was skipped: ${cause}${next}`,
  })
}

/** Undefined for an invalid schedule. */
function decisionIn(pass: CronPass): CronDecision | undefined {
  const { target, state, now } = pass
  const schedule = readSchedule(target.spec.schedule)
  const { lastScheduleTime, lastSkippedTime, scheduleEditedTime } = { ...target.status, ...pass.status }
  if (schedule === undefined) return undefined
  return cronDecision({
    schedule,
    createdMs: timestampMs(target.metadata.creationTimestamp) ?? now.getTime(),
    editedMs: timestampMs(scheduleEditedTime),
    lastMs: timestampMs(lastScheduleTime),
    skippedMs: timestampMs(lastSkippedTime),
    children: state.children.map(scheduledAtMs),
    nowMs: now.getTime(),
    toleranceMs: toleranceMsOf(pass),
    isPaused: target.spec.paused === true,
    isTargetThere: targetIn(pass) !== undefined,
  })
}

/** Adds children that the history does not contain (due.ts, D2); of two children from the same second, one. */
function addToHistory({ target, status }: Pick<CronPass, 'target' | 'status'>, children: readonly Child[]): void {
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

const requireCronsEnabled = requireEnabled<CronPass>('disruptionCronEnabled')

export const followSchedule = sequential(
  requireCronsEnabled,
  reportSpec,
  recordSchedule,
  checkTarget,
  checkSpec,
  createDue,
)

const reportDeletion = action<CronPass>('tellEnd', async ({ target, act, state }): Promise<Outcome> => {
  const rest = state.children.length === 0 ? '' : '; its Disruption goes first'
  const annotations = manifestAnnotations(DISRUPTION_CRON_KIND, target, target.spec)
  await act.event({ type: 'Normal', reason: 'DisruptionCronDeleted', message: `it is deleted${rest}`, annotations })
  return done
})

const endDisruption = action<CronPass>('endDisruption', deleteChildren)

export const endCron = sequential(reportDeletion, endDisruption)

// Counts what happens to Disruptions, crons and rollouts, from what the engine tells of it: Events that were recorded, passes, changes of a status.
//
//   H1. What a status says for the first time is counted when it is written, and by who writes it: two workers count nothing twice.
//   H2. Names go to who is sent metrics, and are no labels: of these there are few.

import type { ControllerObserver, StatusWrite } from '../../run/controller-observer.ts'
import type { Metrics } from '../../run/metrics.ts'
import { kindNamesOf } from '../../../workflows/chaos/contract.ts'
import { timesOf } from '../../../workflows/chaos/disruption/times.ts'
import { instantMs } from '../../../workflows/chaos/instant.ts'
import { fieldsOf, type JsonFields, textOf } from '../../../workflows/chaos/json-fields.ts'

const DISRUPTION = 'disruption'
const PARENTS: Readonly<Record<string, string>> = { disruptionCron: 'cron', disruptionRollout: 'rollout' }
/** Passes that have begun and not ended here: those of runs that other workers took over never do. */
const MOST_PASSES = 10_000

type Counted = Pick<Metrics, 'count' | 'observe'>

export interface CountingOptions {
  readonly metrics: Counted
  readonly now: () => Date
  readonly defaultDurationMs: number
}

export function countingHearing({ metrics, now, defaultDurationMs }: CountingOptions): ControllerObserver {
  const began = new Map<string, number>()
  const nowMs = () => now().getTime()
  return {
    eventRecorded({ controller, namespace, name, reason }) {
      const made = { ChaosPodCreated: 'succeed', CreateFailed: 'failed' }[reason]
      if (made !== undefined) metrics.count('chaos_controller_pods_created', { namespace, status: made }, 1, { name })
      if (reason === 'Orphaned') metrics.count('chaos_controller_orphan_found', { namespace }, 1, { name })
      if (controller === 'disruptionCron' && reason === 'DisruptionCronTargetMissing')
        metrics.count('chaos_cron_controller_schedule_missing_target_deleted', { namespace }, 1, { name })
    },
    passBegan({ controller, workflowID }) {
      if (controller !== DISRUPTION) return
      const [oldest] = began.keys()
      if (began.size >= MOST_PASSES && oldest !== undefined) began.delete(oldest)
      began.set(workflowID, nowMs())
    },
    passEnded({ controller, workflowID }) {
      if (controller !== DISRUPTION) return
      metrics.count('chaos_controller_reconcile')
      const since = began.get(workflowID)
      began.delete(workflowID)
      if (since !== undefined) metrics.observe('chaos_controller_reconcile_duration', (nowMs() - since) / 1000)
    },
    // H1
    statusWritten({ controller, before, after }) {
      const parent = PARENTS[controller]
      if (controller === DISRUPTION) countDisruption(metrics, { before, after }, { nowMs: nowMs(), defaultDurationMs })
      else if (parent !== undefined) countParent(metrics, parent, { before, after })
    },
  }
}

function countDisruption(
  metrics: Counted,
  { before, after }: StatusWrite,
  { nowMs, defaultDurationMs }: { readonly nowMs: number; readonly defaultDurationMs: number },
): void {
  const { status, spec } = fieldsOf(after)
  const { injectionStatus, isStuckOnRemoval, cleanedAt, originalSpec } = fieldsOf(status)
  const { namespace = '', name, creationTimestamp = '', deletionTimestamp } = after.metadata
  const seconds = (metric: string, sinceMs: number | undefined) => {
    metrics.observe(metric, Math.max(0, nowMs - (sinceMs ?? nowMs)) / 1000, {}, { namespace, name })
  }
  const carried = fieldsOf(originalSpec ?? spec)
  // One that loses a target and gets another has been injected before.
  if (injectionStatus === 'Injected' && before['injectionStatus'] !== 'Injected' && isFirst(after, before)) {
    const times = timesOf({ spec: carried, metadata: { creationTimestamp } }, defaultDurationMs)
    seconds('chaos_controller_inject_duration', times.inject)
  }
  if (isStuckOnRemoval === true && before['isStuckOnRemoval'] !== true)
    metrics.count('chaos_controller_disruptions_stuck_on_removal', { namespace }, 1, { name })
  if (typeof cleanedAt !== 'string' || before['cleanedAt'] !== undefined) return
  seconds('chaos_controller_cleanup_duration', instantMs(deletionTimestamp))
  seconds('chaos_controller_disruption_completed_duration', instantMs(creationTimestamp))
  for (const kind of kindNamesOf(carried))
    metrics.count('chaos_controller_disruptions_count', { disruption_kind: kind }, 1, { namespace, name })
}

/** Whether it is in its first run, and something of it had not been injected before this write. */
function isFirst(after: object, { targetInjections }: JsonFields): boolean {
  const kinds = Object.values(fieldsOf(targetInjections)).flatMap((target) => Object.values(fieldsOf(target)))
  const isNew = kinds.length === 0 || kinds.some((kind) => fieldsOf(kind)['since'] === undefined)
  return fieldsOf(fieldsOf(after)['status'])['runCount'] === 1 && isNew
}

function countParent(metrics: Counted, parent: string, { before, after }: StatusWrite): void {
  const status = fieldsOf(fieldsOf(after)['status'])
  const { lastScheduleTime, history } = status
  const { namespace = '', name } = after.metadata
  const count = (what: string) => {
    metrics.count(`chaos_${parent}_controller_schedule_${what}`, { namespace }, 1, { name })
  }
  const came = (field: string) => isSet(field, status) && !isSet(field, before)
  const went = (field: string) => !isSet(field, status) && isSet(field, before)
  if (came('targetResourcePreviouslyMissing')) count('target_missing')
  if (went('targetResourcePreviouslyMissing')) count('missing_target_found')
  if (came('pausedSince')) count('paused')
  if (isSkippedAsTooLate(parent, status) && status['lastSkippedTime'] !== before['lastSkippedTime']) count('too_late')
  // A cron passes over times as well; what it has made stands in its history.
  const [made, known] =
    parent === 'cron' ? [history, before['history']] : [lastScheduleTime, before['lastScheduleTime']]
  if (made !== undefined && JSON.stringify(made) !== JSON.stringify(known)) count('disruption_scheduled')
}

/** Of rollouts nothing else is passed over. */
function isSkippedAsTooLate(parent: string, status: JsonFields): boolean {
  return isSet('lastSkippedTime', status) && (parent === 'rollout' || status['lastSkippedReason'] === 'TooLate')
}

function isSet(field: string, status: JsonFields): boolean {
  return textOf(status[field]) !== ''
}

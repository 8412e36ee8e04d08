// Counts metrics of Disruptions, crons and rollouts from the engine's observer: recorded Events, passes, and status
// writes.
//
// H1. The first occurrence of a status value is counted by the process that writes it, so two workers never count it
//   twice.
// H2. Object names are sent to the metrics sink but are not Prometheus labels, which must have few values.

import type { ControllerObserver, StatusWrite } from '../../run/controller-observer.ts'
import type { Metrics } from '../../run/metrics.ts'
import { kindNamesOf } from '../../../workflows/chaos/contract.ts'
import { timesOf } from '../../../workflows/chaos/disruption/times.ts'
import { timestampMs } from '../../../workflows/chaos/timestamp.ts'
import { fieldsOf, type JsonFields, textOf } from '../../../workflows/chaos/json-fields.ts'

const DISRUPTION = 'disruption'
const PARENTS: Readonly<Record<string, string>> = { disruptionCron: 'cron', disruptionRollout: 'rollout' }
/** Limits passes that never end here, because another worker has taken over their runs. */
const MAX_PASSES = 10_000

type Counted = Pick<Metrics, 'count' | 'observe'>

export interface CountingOptions {
  readonly metrics: Counted
  readonly now: () => Date
  readonly defaultDurationMs: number
}

export function metricsObserver({ metrics, now, defaultDurationMs }: CountingOptions): ControllerObserver {
  const passStarts = new Map<string, number>()
  const nowMs = () => now().getTime()
  return {
    eventRecorded({ controller, namespace, name, reason }) {
      const podStatus = { ChaosPodCreated: 'succeed', CreateFailed: 'failed' }[reason]
      if (podStatus !== undefined)
        metrics.count('chaos_controller_pods_created', { namespace, status: podStatus }, 1, { name })
      if (reason === 'Orphaned') metrics.count('chaos_controller_orphan_found', { namespace }, 1, { name })
      if (controller === 'disruptionCron' && reason === 'DisruptionCronTargetMissing')
        metrics.count('chaos_cron_controller_schedule_missing_target_deleted', { namespace }, 1, { name })
    },
    passBegan({ controller, workflowID }) {
      if (controller !== DISRUPTION) return
      const [oldest] = passStarts.keys()
      if (passStarts.size >= MAX_PASSES && oldest !== undefined) passStarts.delete(oldest)
      passStarts.set(workflowID, nowMs())
    },
    passEnded({ controller, workflowID }) {
      if (controller !== DISRUPTION) return
      metrics.count('chaos_controller_reconcile')
      const since = passStarts.get(workflowID)
      passStarts.delete(workflowID)
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
  // A Disruption that replaces a target has been injected before.
  if (injectionStatus === 'Injected' && before['injectionStatus'] !== 'Injected' && isFirst(after, before)) {
    const times = timesOf({ spec: carried, metadata: { creationTimestamp } }, defaultDurationMs)
    seconds('chaos_controller_inject_duration', times.inject)
  }
  if (isStuckOnRemoval === true && before['isStuckOnRemoval'] !== true)
    metrics.count('chaos_controller_disruptions_stuck_on_removal', { namespace }, 1, { name })
  if (typeof cleanedAt !== 'string' || before['cleanedAt'] !== undefined) return
  seconds('chaos_controller_cleanup_duration', timestampMs(deletionTimestamp))
  seconds('chaos_controller_disruption_completed_duration', timestampMs(creationTimestamp))
  for (const kind of kindNamesOf(carried))
    metrics.count('chaos_controller_disruptions_count', { disruption_kind: kind }, 1, { namespace, name })
}

/** Whether this is the first run and a target had not been injected before this write. */
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
  const wasSet = (field: string) => isSet(field, status) && !isSet(field, before)
  const wasCleared = (field: string) => !isSet(field, status) && isSet(field, before)
  if (wasSet('targetResourcePreviouslyMissing')) count('target_missing')
  if (wasCleared('targetResourcePreviouslyMissing')) count('missing_target_found')
  if (wasSet('pausedSince')) count('paused')
  if (isSkippedAsTooLate(parent, status) && status['lastSkippedTime'] !== before['lastSkippedTime']) count('too_late')
  // A cron skips times as well; its history contains the created Disruptions.
  const [made, known] =
    parent === 'cron' ? [history, before['history']] : [lastScheduleTime, before['lastScheduleTime']]
  if (made !== undefined && JSON.stringify(made) !== JSON.stringify(known)) count('disruption_scheduled')
}

/** A rollout skips only for this reason. */
function isSkippedAsTooLate(parent: string, status: JsonFields): boolean {
  return isSet('lastSkippedTime', status) && (parent === 'rollout' || status['lastSkippedReason'] === 'TooLate')
}

function isSet(field: string, status: JsonFields): boolean {
  return textOf(status[field]) !== ''
}

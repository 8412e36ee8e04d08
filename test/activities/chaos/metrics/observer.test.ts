import { describe, expect, it } from 'vitest'

import { metricsObserver } from '../../../../activities/chaos/metrics/observer.ts'

function hearing() {
  const told: string[] = []
  const clock = { ms: 100_000 }
  const metrics = {
    count: (name: string, labels: object = {}) => void told.push(`${name} ${JSON.stringify(labels)}`),
    observe: (name: string, seconds: number) => void told.push(`${name} ${seconds}`),
  }
  const heard = metricsObserver({ metrics, now: () => new Date(clock.ms), defaultDurationMs: 60_000 })
  return { told, clock, heard }
}

const at = (ms: number) => new Date(ms).toISOString()

function written(controller: string, before: object, status: object, metadata: object = {}) {
  const after = { metadata: { name: 'x', namespace: 'shop', creationTimestamp: at(40_000), ...metadata }, status }
  return { controller, before: before as Readonly<Record<string, unknown>>, after }
}

describe('the metrics observer', () => {
  it('counts each change of a status once, when it is written', () => {
    const { told, heard } = hearing()
    const originalSpec = { cpuPressure: {}, dns: {}, triggers: { inject: { offset: '30s' } } }
    const ready = { dns: { since: at(60_000) } }
    const injected = {
      injectionStatus: 'Injected',
      runCount: 1,
      originalSpec,
      targetInjections: { a: ready, b: ready },
    }
    const partly = { injectionStatus: 'PartiallyInjected', runCount: 1, targetInjections: { a: ready, b: { dns: {} } } }
    // Its targets become ready one after the other.
    heard.statusWritten?.(written('disruption', { injectionStatus: 'NotInjected' }, { ...partly, originalSpec }))
    heard.statusWritten?.(written('disruption', partly, injected))
    heard.statusWritten?.(written('disruption', injected, injected))
    // One target was not ready for some time, and one was replaced.
    heard.statusWritten?.(written('disruption', { ...injected, injectionStatus: 'PartiallyInjected' }, injected))
    heard.statusWritten?.(written('disruption', partly, { ...injected, runCount: 2 }))
    heard.statusWritten?.(written('disruption', injected, { ...injected, isStuckOnRemoval: true }))
    const clean = { ...injected, isStuckOnRemoval: false, cleanedAt: at(100_000) }
    heard.statusWritten?.(
      written('disruption', { ...injected, isStuckOnRemoval: true }, clean, { deletionTimestamp: at(95_000) }),
    )
    heard.statusWritten?.(written('disruption', clean, clean))
    expect(told).toEqual([
      'chaos_controller_inject_duration 30',
      'chaos_controller_disruptions_stuck_on_removal {"namespace":"shop"}',
      'chaos_controller_cleanup_duration 5',
      'chaos_controller_disruption_completed_duration 60',
      'chaos_controller_disruptions_count {"disruption_kind":"cpu-pressure"}',
      'chaos_controller_disruptions_count {"disruption_kind":"dns-disruption"}',
    ])
  })

  it('counts passes, and measures those that began in this process', () => {
    const { told, heard, clock } = hearing()
    const end = { namespace: 'shop', name: 'one', fault: undefined }
    heard.passBegan?.({ controller: 'disruption', workflowID: 'w' })
    clock.ms += 250
    heard.passEnded?.({ controller: 'disruption', workflowID: 'w', ...end })
    heard.passEnded?.({ controller: 'disruption', workflowID: 'of another worker', ...end })
    heard.passEnded?.({ controller: 'disruptionCron', workflowID: 'c', ...end })
    expect(told).toEqual([
      ...['chaos_controller_reconcile {}', 'chaos_controller_reconcile_duration 0.25', 'chaos_controller_reconcile {}'],
    ])
  })

  it('counts the children and missing targets of crons and rollouts', () => {
    const { told, heard } = hearing()
    const [missing, history] = [{ targetResourcePreviouslyMissing: at(1) }, [{ name: 'a', createdAt: at(2) }]]
    heard.statusWritten?.(written('disruptionCron', {}, missing))
    heard.statusWritten?.(written('disruptionCron', missing, { history }))
    heard.statusWritten?.(
      written('disruptionCron', { history }, { history, lastSkippedTime: at(3), lastScheduleTime: at(3) }),
    )
    heard.statusWritten?.(written('disruptionRollout', {}, { lastScheduleTime: at(3) }))
    heard.eventRecorded?.({
      controller: 'disruptionCron',
      namespace: 'shop',
      name: 'x',
      reason: 'DisruptionCronTargetMissing',
    })
    heard.eventRecorded?.({ controller: 'disruption', namespace: 'shop', name: 'x', reason: 'CreateFailed' })
    heard.eventRecorded?.({ controller: 'disruption', namespace: 'shop', name: 'x', reason: 'Orphaned' })
    expect(told).toEqual([
      'chaos_cron_controller_schedule_target_missing {"namespace":"shop"}',
      'chaos_cron_controller_schedule_missing_target_found {"namespace":"shop"}',
      'chaos_cron_controller_schedule_disruption_scheduled {"namespace":"shop"}',
      'chaos_rollout_controller_schedule_disruption_scheduled {"namespace":"shop"}',
      'chaos_cron_controller_schedule_missing_target_deleted {"namespace":"shop"}',
      'chaos_controller_pods_created {"namespace":"shop","status":"failed"}',
      'chaos_controller_orphan_found {"namespace":"shop"}',
    ])
  })
  it('counts late times, and the start of a pause', () => {
    const { told, heard } = hearing()
    const late = { lastSkippedTime: at(4), lastSkippedReason: 'TooLate' }
    heard.statusWritten?.(written('disruptionCron', { lastSkippedTime: at(3), lastSkippedReason: 'StillThere' }, late))
    heard.statusWritten?.(written('disruptionCron', late, { ...late, pausedSince: at(5) }))
    heard.statusWritten?.(written('disruptionCron', { ...late, pausedSince: at(5) }, { ...late, pausedSince: at(5) }))
    heard.statusWritten?.(written('disruptionCron', { ...late, pausedSince: at(5) }, late))
    heard.statusWritten?.(written('disruptionRollout', {}, { lastSkippedTime: at(4) }))
    heard.statusWritten?.(written('disruptionRollout', { lastSkippedTime: at(4) }, { lastSkippedTime: at(4) }))
    expect(told).toEqual([
      'chaos_cron_controller_schedule_too_late {"namespace":"shop"}',
      'chaos_cron_controller_schedule_paused {"namespace":"shop"}',
      'chaos_rollout_controller_schedule_too_late {"namespace":"shop"}',
    ])
  })
})

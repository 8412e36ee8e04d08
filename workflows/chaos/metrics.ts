// The metrics of the wing, by the names that users of chaos-controller know, with `_` for each dot. Source: spec/chaos.md 2.15.

import type { MetricTable } from '../kit/index.ts'

const OF_NAMESPACE = { type: 'counter', labels: ['namespace'] } as const

/** Of crons and of rollouts. */
function schedules(what: 'cron' | 'rollout'): MetricTable {
  const prefix = `chaos_${what}_controller_schedule`
  return {
    [`${prefix}_disruption_scheduled`]: { ...OF_NAMESPACE, help: `Disruptions that ${what}s have made.` },
    [`${prefix}_target_missing`]: { ...OF_NAMESPACE, help: `Times that the target of a ${what} was found missing.` },
    [`${prefix}_missing_target_found`]: {
      ...OF_NAMESPACE,
      help: `Times that a missing target of a ${what} was there again.`,
    },
  }
}

export const CHAOS_METRICS: MetricTable = {
  chaos_controller_restart: { type: 'counter', help: 'Starts of this worker.' },
  chaos_controller_reconcile: { type: 'counter', help: 'Passes over Disruptions.' },
  chaos_controller_reconcile_duration: { type: 'histogram', help: 'Seconds that a pass over a Disruption took.' },
  chaos_controller_inject_duration: {
    ...{ type: 'histogram', help: 'Seconds from when a Disruption was to be injected until all of it was.' },
  },
  chaos_controller_cleanup_duration: {
    ...{ type: 'histogram', help: 'Seconds from the deletion of a Disruption until no chaos pod was left.' },
  },
  chaos_controller_pods_created: {
    ...{ type: 'counter', labels: ['namespace', 'status'] },
    help: 'Chaos pods that were made (succeed), or could not be (failed), by the namespace of the Disruption.',
  },
  chaos_controller_pods_gauge: { type: 'gauge', help: 'Chaos pods that are there.' },
  chaos_controller_orphan_found: {
    ...{ ...OF_NAMESPACE, help: 'Chaos pods whose Disruption was gone, though it had not been undone.' },
  },
  chaos_controller_disruption_completed_duration: {
    ...{ type: 'histogram', help: 'Seconds from the creation of a Disruption until it was clean.' },
  },
  chaos_controller_disruption_ongoing_duration: {
    ...{
      type: 'gauge',
      labels: ['namespace', 'name'],
      help: 'Seconds since the creation of a Disruption that is there.',
    },
  },
  chaos_controller_disruptions_stuck_on_removal: { ...OF_NAMESPACE, help: 'Disruptions that became stuck.' },
  chaos_controller_disruptions_stuck_on_removal_total: { type: 'gauge', help: 'Disruptions that are stuck.' },
  chaos_controller_disruptions_gauge: { type: 'gauge', help: 'Disruptions that are there.' },
  chaos_controller_disruptions_count: {
    ...{ type: 'counter', labels: ['disruption_kind'], help: 'Disruptions that have become clean, by what they did.' },
  },
  ...schedules('cron'),
  chaos_cron_controller_schedule_missing_target_deleted: {
    ...{ ...OF_NAMESPACE, help: 'Crons that were deleted because their target was missing for too long.' },
  },
  ...schedules('rollout'),
}

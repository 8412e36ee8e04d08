// The metrics of the wing, under chaos-controller's names: Datadog uses dots, Prometheus `_` for each dot. Source:
// spec/chaos.md 2.15.

import type { MetricLabels, MetricTable } from '../kit/index.ts'

/** The sinks that receive metrics in addition to the metrics endpoint. */
export const METRICS_SINKS = ['noop', 'datadog'] as const
export type MetricsSink = (typeof METRICS_SINKS)[number]

const NAMESPACE_COUNTER = { type: 'counter', labels: ['namespace'] } as const

/** The metrics of crons or rollouts. */
function schedules(what: 'cron' | 'rollout'): MetricTable {
  const prefix = `chaos.${what}.controller.schedule`
  return {
    [`${prefix}.disruption_scheduled`]: { ...NAMESPACE_COUNTER, help: `Disruptions that ${what}s created.` },
    [`${prefix}.too_late`]: {
      ...NAMESPACE_COUNTER,
      help: `${what === 'cron' ? 'Times' : 'Changes'} that a ${what} skipped because they were later than its tolerance.`,
    },
    [`${prefix}.target_missing`]: {
      ...NAMESPACE_COUNTER,
      help: `Times that the target of a ${what} was found missing.`,
    },
    [`${prefix}.missing_target_found`]: {
      ...NAMESPACE_COUNTER,
      help: `Times that a missing target of a ${what} was found again.`,
    },
  }
}

const METRICS: MetricTable = {
  'chaos.controller.restart': { type: 'counter', help: 'Starts of this worker.' },
  'chaos.controller.reconcile': { type: 'counter', help: 'Passes over Disruptions.' },
  'chaos.controller.reconcile.duration': { type: 'histogram', help: 'Seconds of a pass over a Disruption.' },
  'chaos.controller.inject.duration': {
    type: 'histogram',
    help: 'Seconds from the planned injection until all targets were injected.',
  },
  'chaos.controller.cleanup.duration': {
    type: 'histogram',
    help: 'Seconds from the deletion of a Disruption until no chaos pod was left.',
  },
  'chaos.controller.pods.created': {
    type: 'counter',
    labels: ['namespace', 'status'],
    help: 'Chaos pods that were created (succeed) or could not be created (failed).',
  },
  'chaos.controller.pods.gauge': {
    type: 'gauge',
    help: 'Existing chaos pods, in the configured namespace and in the recorded namespaces of existing Disruptions.',
  },
  'chaos.controller.orphan.found': {
    ...NAMESPACE_COUNTER,
    help: 'Chaos pods whose Disruption was gone before it was undone.',
  },
  'chaos.controller.disruption.completed_duration': {
    type: 'histogram',
    help: 'Seconds from the creation of a Disruption until it was clean.',
  },
  'chaos.controller.disruption.ongoing_duration': {
    type: 'gauge',
    labels: ['namespace', 'name'],
    help: 'Age of an existing Disruption in seconds; the 500 oldest.',
  },
  'chaos.controller.disruptions.stuck_on_removal': { ...NAMESPACE_COUNTER, help: 'Disruptions that became stuck.' },
  'chaos.controller.disruptions.stuck_on_removal_total': { type: 'gauge', help: 'Stuck Disruptions.' },
  'chaos.controller.disruptions.gauge': { type: 'gauge', help: 'Existing Disruptions.' },
  'chaos.controller.disruptions.count': {
    type: 'counter',
    labels: ['disruption_kind'],
    help: 'Disruptions that became clean.',
  },
  ...schedules('cron'),
  'chaos.cron.controller.schedule.missing_target_deleted': {
    ...NAMESPACE_COUNTER,
    help: 'Crons that were deleted because their target was missing for too long.',
  },
  'chaos.cron.controller.schedule.paused': { ...NAMESPACE_COUNTER, help: 'Crons that became paused.' },
  'chaos.cron.controller.schedule.next_scheduled': {
    type: 'gauge',
    labels: ['namespace', 'name'],
    help: 'Seconds until the next start of a cron; the next 500.',
  },
  ...schedules('rollout'),
}

/** Counters of admission reviews of Disruptions. */
const REVIEW_METRICS = {
  created: 'chaos.controller.validation.created',
  updated: 'chaos.controller.validation.updated',
  refused: 'chaos.controller.validation.failed',
  deleted: 'chaos.controller.validation.deleted',
} as const

export const CHAOS_METRICS: MetricTable = Object.fromEntries(
  Object.entries(METRICS).map(([name, declaration]) => [underscored(name), declaration]),
)

/** By the result of the review; the webhook declares these counters. */
export const REVIEW_COUNTERS = {
  created: underscored(REVIEW_METRICS.created),
  updated: underscored(REVIEW_METRICS.updated),
  refused: underscored(REVIEW_METRICS.refused),
  deleted: underscored(REVIEW_METRICS.deleted),
}

const DATADOG_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [...Object.keys(METRICS), ...Object.values(REVIEW_METRICS)].map((name) => [underscored(name), name]),
)

/** The metric's name in Datadog; undefined for metrics outside the wing. */
export function datadogNameOf(metric: string): string | undefined {
  return DATADOG_NAMES[metric]
}

/** Prometheus gauges that chaos-controller sends as timings. */
const TIMINGS: readonly string[] = [
  'chaos.controller.disruption.ongoing_duration',
  'chaos.cron.controller.schedule.next_scheduled',
]

export function isSentAsTiming(name: string): boolean {
  return TIMINGS.includes(name)
}

const NAME_TAGS: Readonly<Record<string, string>> = {
  'chaos.controller': 'disruptionName',
  'chaos.cron.controller': 'disruptionCronName',
  'chaos.rollout.controller': 'disruptionRolloutName',
}

/** The labels as Datadog tags; the tag of a name says which kind of object it belongs to. */
export function datadogTagsOf(datadogName: string, { name, ...labels }: MetricLabels): MetricLabels {
  const [, tag = 'name'] = Object.entries(NAME_TAGS).find(([prefix]) => datadogName.startsWith(`${prefix}.`)) ?? []
  return { ...labels, ...(name !== undefined && { [tag]: name }) }
}

function underscored(name: string): string {
  return name.replaceAll('.', '_')
}

// The wing's flags, permissions and metrics. A Disruption disturbs running workloads, so a process serves this wing
// only if `--wings` names it.

import type { Wing } from '../kit/index.ts'
import { CHAOS_NAMESPACE } from './config.ts'
import { CONFIG_FLAGS } from './config-flags.ts'
import { CHAOS_METRICS, METRICS_SINKS, type MetricsSink, REVIEW_COUNTERS } from './metrics.ts'

export const chaosWing = {
  flags: {
    'chaos-config': {
      takes: '<file>',
      reads: 'text',
      default: 'none',
      inDev: 'as-given',
      inWebhook: true,
      text: 'a YAML file with the configuration of chaos-controller: safe mode, durations, image of the injector',
    },
    'metrics-sink': {
      takes: '<sink>',
      reads: 'text',
      default: 'from the configuration, else noop',
      inDev: 'as-given',
      inWebhook: true,
      accepts: (sink) => METRICS_SINKS.includes(sink as MetricsSink),
      expected: METRICS_SINKS.join(' or '),
      text: 'destination of the metrics of Disruptions and injectors: noop, or datadog (sends to STATSD_URL)',
    },
    ...CONFIG_FLAGS,
  },
  defaultSettings: { injector: { chaosNamespace: CHAOS_NAMESPACE } },
  workerRules: [],
  // The webhook reads emergency stops, the number of pods and nodes, Services, and chaos pods that hold a Disruption
  // (activities/chaos/admission/).
  webhookRules: [
    { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['list'] },
    { apiGroups: [''], resources: ['namespaces', 'services'], verbs: ['get'] },
  ],
  metrics: CHAOS_METRICS,
  onlyWhenNamed: true,
  // No label exempts a Disruption from the operators' rules.
  admission: {
    configuration: 'chaos-validation-webhook',
    domain: 'validation.chaos.datadoghq.com',
    mutation: { configuration: 'chaos-mutation-webhook', domain: 'mutation.chaos.datadoghq.com' },
    counters: { Disruption: REVIEW_COUNTERS },
  },
} as const satisfies Wing

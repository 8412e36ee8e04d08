// Sends the metrics of this process to Datadog, under chaos-controller's names and tags. Source: spec/chaos.md 2.15.
//
// S1. Counters are sent when they are counted, gauges once a minute. All workers send the same gauges, so the maximum
//   of several workers is correct, as with Prometheus.

import type { Sample } from '../../run/metrics.ts'
import type { MetricLabels, MetricsSource, StatsdEnvironment } from '../../../workflows/kit/index.ts'
import { datadogNameOf, datadogTagsOf, isSentAsTiming, METRICS_SINKS } from '../../../workflows/chaos/metrics.ts'
import { DatadogClient } from '../datadog-client.ts'
import type { ChaosConfig } from '../../../workflows/chaos/config.ts'
import { statsdAddressIn } from '../../../workflows/chaos/statsd-address.ts'

export const SINK_SETTING = 'metrics sink datadog (--metrics-sink, or controller.metricsSink)'

export interface AgentOptions {
  readonly statsd: StatsdEnvironment | undefined
  /** The setting that needs the agent, for messages: `controller.metricsSink: datadog`. */
  readonly setting: string
  readonly isGrouped: boolean
  readonly warn: (details: object, message: string) => void
}

/** @throws a plain Error that names the setting and the problem of the agent's address. */
export function openAgent({ statsd = {}, setting, isGrouped, warn }: AgentOptions): DatadogClient {
  const found = statsdAddressIn(statsd)
  if ('problem' in found) throw new Error(`${setting}: ${found.problem}`)
  const { address } = found
  return new DatadogClient({
    address,
    app: 'chaos-controller',
    isGrouped,
    lost: (error) => {
      warn({ err: error, agent: address }, 'metrics cannot be sent to the Datadog agent; this is logged once')
    },
  })
}

/** Applies the flag and the environment to the configuration. @param flag `--metrics-sink`. */
export function withSink(config: ChaosConfig, flag: unknown, statsd: StatsdEnvironment | undefined): ChaosConfig {
  const metricsSink = METRICS_SINKS.find((one) => one === flag) ?? config.controller.metricsSink
  const statsdURL = statsd?.url
  return { ...config, controller: { ...config.controller, metricsSink, ...(statsdURL !== undefined && { statsdURL }) } }
}

/** Source: spec/chaos.md 2.15: "Gauges refreshed every minute". */
const GAUGES_EVERY_MS = 60_000
export interface SinkOptions {
  readonly client: Pick<DatadogClient, 'count' | 'timing' | 'gauge' | 'close'>
  readonly metrics: MetricsSource & { samples?(): Promise<readonly Sample[]> }
  readonly gaugesEveryMs?: number
}

/** @returns a function that stops it and sends the remaining metrics. */
export function openSink({ client, metrics, gaugesEveryMs = GAUGES_EVERY_MS }: SinkOptions): () => Promise<void> {
  const forMetric = (send: (name: string, tags: MetricLabels, value: number) => void) => {
    return (metric: string, labels: MetricLabels, value: number) => {
      const name = datadogNameOf(metric)
      if (name !== undefined) send(name, datadogTagsOf(name, labels), value)
    }
  }
  const counted = forMetric((name, tags, by) => client.count(name, by, tags))
  const observed = forMetric((name, tags, seconds) => client.timing(name, seconds, tags))
  const measured = forMetric((name, tags, value) => {
    if (isSentAsTiming(name)) client.timing(name, value, tags)
    else client.gauge(name, value, tags)
  })
  metrics.addObserver({ counted, observed })
  const sendGauges = async () => {
    for (const { name, labels = {}, value } of (await metrics.samples?.()) ?? []) measured(name, labels, value)
  }
  const timer = metrics.samples === undefined ? undefined : setInterval(() => void sendGauges(), gaugesEveryMs)
  timer?.unref()
  return async () => {
    clearInterval(timer)
    await client.close()
  }
}

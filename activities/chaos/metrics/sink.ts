// Sends on what this process counts of the wing, under the names and tags that chaos-controller sends. Source: spec/chaos.md 2.15.
//
//   S1. What is counted is sent when it is counted; gauges once a minute. Each worker sends the same of these: of several the maximum counts, as with Prometheus.

import type { Sample } from '../../run/metrics.ts'
import type { MetricLabels, MetricsSource } from '../../../workflows/kit/index.ts'
import { datadogNameOf, datadogTagsOf, isSentAsTiming } from '../../../workflows/chaos/metrics.ts'
import type { DatadogClient } from '../datadog-client.ts'

/** Source: spec/chaos.md 2.15: "Gauges refreshed every minute". */
const GAUGES_EVERY_MS = 60_000
export interface SinkOptions {
  readonly client: Pick<DatadogClient, 'count' | 'timing' | 'gauge' | 'close'>
  readonly metrics: MetricsSource & { samples?(): Promise<readonly Sample[]> }
  readonly gaugesEveryMs?: number
}

/** @returns what ends it, when what is left has been sent. */
export function openSink({ client, metrics, gaugesEveryMs = GAUGES_EVERY_MS }: SinkOptions): () => Promise<void> {
  const toldBy = (tell: (name: string, tags: MetricLabels, value: number) => void) => {
    return (metric: string, labels: MetricLabels, value: number) => {
      const name = datadogNameOf(metric)
      if (name !== undefined) tell(name, datadogTagsOf(name, labels), value)
    }
  }
  const counted = toldBy((name, tags, by) => client.count(name, by, tags))
  const observed = toldBy((name, tags, seconds) => client.timing(name, seconds, tags))
  const measured = toldBy((name, tags, value) => {
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

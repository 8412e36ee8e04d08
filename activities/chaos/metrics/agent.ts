// The way to the agent of Datadog, where the operators want one.

import type { StatsdEnvironment } from '../../../workflows/kit/index.ts'
import type { ChaosConfig } from '../../../workflows/chaos/config.ts'
import { METRICS_SINKS } from '../../../workflows/chaos/metrics.ts'
import { statsdAddressIn } from '../../../workflows/chaos/statsd-address.ts'
import { DatadogClient } from '../datadog-client.ts'

export const WANTS_SINK = 'metrics sink datadog (--metrics-sink, or controller.metricsSink)'

export interface AgentOptions {
  readonly statsd: StatsdEnvironment | undefined
  /** What wants it, for people: `controller.metricsSink: datadog`. */
  readonly wantedBy: string
  readonly isGrouped: boolean
  readonly warn: (details: object, message: string) => void
}

/** @throws a plain Error that says what wants an agent, and what is wrong with where it is said to be. */
export function openAgent({ statsd = {}, wantedBy, isGrouped, warn }: AgentOptions): DatadogClient {
  const found = statsdAddressIn(statsd)
  if ('problem' in found) throw new Error(`${wantedBy}: ${found.problem}`)
  const { address } = found
  return new DatadogClient({
    address,
    app: 'chaos-controller',
    isGrouped,
    lost: (error) => {
      warn({ err: error, agent: address }, 'what is sent to the agent of Datadog is lost; this is said once')
    },
  })
}

/** The configuration as it is where a flag and the environment say more. @param flag `--metrics-sink`. */
export function withSink(config: ChaosConfig, flag: unknown, statsd: StatsdEnvironment | undefined): ChaosConfig {
  const metricsSink = METRICS_SINKS.find((one) => one === flag) ?? config.controller.metricsSink
  const statsdURL = statsd?.url
  return { ...config, controller: { ...config.controller, metricsSink, ...(statsdURL !== undefined && { statsdURL }) } }
}

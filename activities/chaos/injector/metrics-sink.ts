// Counts the injector's results in Datadog, or nowhere. A failure to send never affects the injection. Source:
// spec/chaos.md 2.15, 3.3.

import type { StatsdEnvironment } from '../../../workflows/kit/index.ts'
import type { InjectorKindName } from '../../../workflows/chaos/contract.ts'
import type { MetricsSink } from '../../../workflows/chaos/metrics.ts'
import { statsdAddressIn } from '../../../workflows/chaos/statsd-address.ts'
import type { Count } from './lifecycle.ts'
import { type Log, textOf } from './log.ts'

export interface OpenSink {
  /** Counts one result; returns immediately. */
  readonly count: Count
  /** Sends the remaining metrics, for at most a second. Never throws. */
  readonly close: () => Promise<void>
}

export interface SinkOptions {
  /** `noop` or `datadog`. */
  readonly sink: MetricsSink
  /** The value of the tag `kind`. */
  readonly kind: InjectorKindName
  readonly statsd: StatsdEnvironment
  readonly log: Log
}

const NO_SINK: OpenSink = { count: () => undefined, close: () => Promise.resolve() }

/** Returns a sink that drops all counts for `noop`, and if the environment has no valid agent address. */
export async function openSink({ sink, kind, statsd, log }: SinkOptions): Promise<OpenSink> {
  if (sink === 'noop') return NO_SINK
  const found = statsdAddressIn(statsd)
  if ('problem' in found) {
    log.warn('metrics are off', { why: found.problem })
    return NO_SINK
  }
  const { DatadogClient } = await import('../datadog-client.ts')
  const client = new DatadogClient({
    address: found.address,
    app: 'chaos-injector',
    isGrouped: false,
    lost: (error) => log.warn('metrics cannot be sent; this is logged once', { error: textOf(error) }),
  })
  return {
    // chaos-controller's names of the metric and of the tag's values; `isDone`: the operation succeeded.
    count: (what, isDone) => client.count(`chaos.injector.${what}`, 1, { status: isDone ? 'succeed' : 'failed', kind }),
    close: async () => await client.close(),
  }
}

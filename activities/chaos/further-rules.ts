// The admission rules that need the operators' configuration or the cluster; the webhook opens them once.

import type { AsyncRulesContext, AsyncRequest, AsyncRules, Problem } from '../../workflows/kit/index.ts'
import {
  TOLERANCE_MUTATION,
  toleranceChange,
  cronPolicyProblems,
} from '../../workflows/chaos/disruption-cron/rules/cron.ts'
import { disruptionCronKind } from '../../workflows/chaos/disruption-cron/kind.ts'
import { disruptionRolloutKind } from '../../workflows/chaos/disruption-rollout/kind.ts'
import { durationChange, DURATION_MUTATION } from '../../workflows/chaos/disruption/rules/timing.ts'
import { templateWarnings } from '../../workflows/chaos/disruption/rules/policy.ts'
import type { ChaosConfig } from '../../workflows/chaos/config.ts'
import type { CloudServices } from '../../workflows/chaos/cloud.ts'
import { disruptionKind } from '../../workflows/chaos/disruption/kind.ts'
import { type EnabledField, disabledText } from '../../workflows/chaos/parent-pass.ts'
import { HANDLER_MUTATION, handlerChange } from '../../workflows/chaos/on-init/rules/handler-container.ts'
import { cloudWarnings, type DisruptionRules, disruptionProblems, metadataProblems } from './admission/disruption.ts'
import { openAgent, SINK_SETTING, openSink } from './metrics/sink.ts'
import { RangesUnavailable } from './cloud/published-ranges.ts'
import { configFor, rangesFor } from './wing.ts'

/** @throws if the configuration file is invalid; the webhook does not start then. */
export function openAsyncRules({ kube, flags, metrics, nodeName, warn }: AsyncRulesContext): AsyncRules {
  const config = configFor(flags, { statsd: metrics?.statsd, nodeName })
  const closeSink = sinkIn(config, { metrics, warn })
  // The workers report outdated lists, because they use them.
  const publishedRanges = rangesFor(config, () => undefined)
  const cloudHosts = async (services: CloudServices) =>
    await publishedRanges.hostsOf(services).catch((error: unknown) => {
      if (!(error instanceof RangesUnavailable)) throw error
      return { unknown: error.message }
    })
  const rules: DisruptionRules = { kube, config, cloudHosts, now: Date.now }
  return {
    validate: (request) => problemsOf(rules, request),
    warnings: (request) => warningsOf(rules, request),
    metadata: async (request) =>
      request.kind.kind === disruptionKind.kind ? await metadataProblems(rules, request) : [],
    mutate(mutation, request) {
      const { defaultDurationMs, defaultCronDelayedStartToleranceMs } = rules.config.controller
      switch (mutation) {
        case DURATION_MUTATION:
          return durationChange(request, defaultDurationMs)
        case TOLERANCE_MUTATION:
          return toleranceChange(request, defaultCronDelayedStartToleranceMs)
        case HANDLER_MUTATION:
          return handlerChange(request.object, rules.config.handler)
        default:
          return []
      }
    },
    close: closeSink,
  }
}

async function warningsOf(rules: DisruptionRules, request: AsyncRequest): Promise<readonly string[]> {
  switch (request.kind.kind) {
    case disruptionKind.kind:
      return await cloudWarnings(rules, request)
    case disruptionCronKind.kind:
      return parentWarnings(rules, request, 'disruptionCronEnabled')
    case disruptionRolloutKind.kind:
      return parentWarnings(rules, request, 'disruptionRolloutEnabled')
    default:
      return []
  }
}

function parentWarnings(
  { config, now }: Pick<DisruptionRules, 'config' | 'now'>,
  { object }: Pick<AsyncRequest, 'object'>,
  field: EnabledField,
): readonly string[] {
  return [
    ...(config.controller[field] === false ? [disabledText(field)] : []),
    ...templateWarnings(config, { object, nowMs: now() }),
  ]
}

/** Sends the webhook's counters to the metrics sink. */
function sinkIn(
  { controller }: ChaosConfig,
  { metrics, warn }: { readonly metrics: AsyncRulesContext['metrics']; readonly warn: AsyncRulesContext['warn'] },
): () => Promise<void> {
  if (metrics === undefined || controller.metricsSink !== 'datadog') return () => Promise.resolve()
  const { source, statsd } = metrics
  const client = openAgent({ statsd, setting: SINK_SETTING, isGrouped: true, warn })
  return openSink({ client, metrics: { addObserver: (observer) => source.addObserver(observer) } })
}

async function problemsOf(rules: DisruptionRules, request: AsyncRequest): Promise<readonly Problem[]> {
  const { object, user } = request
  switch (request.kind.kind) {
    case disruptionKind.kind:
      return await disruptionProblems(rules, request)
    case disruptionCronKind.kind:
      return cronPolicyProblems(rules.config, { object, groups: user.groups, nowMs: rules.now() })
    default:
      return []
  }
}

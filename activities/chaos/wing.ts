// The wing in a worker: the operators' configuration, read once when the worker starts.

import { readFileSync } from 'node:fs'

import { type ChaosConfig, passConfig } from '../../workflows/chaos/config.ts'
import { withConfigFlags } from '../../workflows/chaos/config-flags.ts'
import { type NotifierConfig, readNotifierConfig } from '../../workflows/chaos/notifier-config.ts'
import { readChaosConfig } from '../../workflows/chaos/read-config.ts'
import type { chaosWing } from '../../workflows/chaos/wing.ts'
import { type JsonValue, type Problem, problemText, type StatsdEnvironment } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { ActivityWing, OpenWing } from '../wing.ts'
import { FILE_LIMITS, readYaml, YamlError } from '../yaml/read-yaml.ts'
import type { CloudParts } from './cloud/find-hosts.ts'
import { PublishedRanges } from './cloud/published-ranges.ts'
import type { DatadogClient } from './datadog-client.ts'
import { openAgent, WANTS_SINK, withSink } from './metrics/agent.ts'
import { openSink } from './metrics/sink.ts'
import { measureGauges } from './metrics/gauges.ts'
import { countingHearing } from './metrics/hearing.ts'
import { openNotifiers } from './notifiers/open.ts'

export const chaos: ActivityWing<typeof chaosWing.flags> = {
  open(deps, flags) {
    const config = configFor(flags, deps)
    const notifying = notifiersFor(flags)
    const eventsTo = notifying.datadog ? agentOf(deps, 'controller.notifiers.datadog.enabled: true', false) : undefined
    const notifiers = openNotifiers(notifying, deps.log, eventsTo)
    const closeSink = sinkIn(deps, config)
    return {
      activities: {},
      parts: {
        publishedRanges: rangesFor(config, deps.log.warn.bind(deps.log)),
      } satisfies CloudParts,
      settings: passConfig(config) as unknown as JsonValue,
      notifiers,
      ...countingIn(deps, config),
      close: async () => {
        await Promise.all([closeSink(), eventsTo?.close()])
      },
    }
  },
}

function agentOf({ statsd, log }: Deps, wantedBy: string, isGrouped: boolean): DatadogClient {
  return openAgent({ statsd, wantedBy, isGrouped, warn: log.warn.bind(log) })
}

/** Sends on what is counted, where the operators want it. @returns what ends it. */
function sinkIn(deps: Deps, { controller }: ChaosConfig): () => Promise<void> {
  const { metrics } = deps
  if (metrics === undefined || controller.metricsSink !== 'datadog') return () => Promise.resolve()
  return openSink({ client: agentOf(deps, WANTS_SINK, true), metrics })
}

export function rangesFor(
  { cloudProviders: config }: ChaosConfig,
  warn: (details: object, message: string) => void,
): PublishedRanges {
  return new PublishedRanges({ config, now: Date.now, warn })
}

/** What is counted, where somebody asks. */
function countingIn(deps: Deps, { controller, injector }: ChaosConfig): Pick<OpenWing, 'observer'> {
  const { metrics, now } = deps
  if (metrics === undefined) return {}
  metrics.count('chaos_controller_restart')
  metrics.measure(async () => await measureGauges(deps, injector.chaosNamespace))
  return { observer: countingHearing({ metrics, now, defaultDurationMs: controller.defaultDurationMs }) }
}

/**
 * The configuration of a process: what its file says, its flags and its environment; the defaults without any.
 *
 * @param flags values of flags, or as they were written. @throws a plain Error that names the file and each field that is wrong, what was found and what
 * was expected.
 */
export function configFor(
  flags: Readonly<Record<string, unknown>>,
  { statsd, nodeName }: { readonly statsd?: StatsdEnvironment | undefined; readonly nodeName?: string | undefined },
): ChaosConfig {
  const { 'metrics-sink': sink } = flags
  const read = (document: unknown) => readChaosConfig(withConfigFlags(document, flags))
  const config = withSink(readBy(read, fileIn(flags)), sink, statsd)
  if (nodeName === undefined) return config
  const ownNodes = [...new Set([...(config.controller.ownNodes ?? []), nodeName])]
  return { ...config, controller: { ...config.controller, ownNodes } }
}

/** The notifiers in the same file. @throws as `configFor`. */
export function notifiersFor(flags: Readonly<Record<string, unknown>>): NotifierConfig {
  return readBy(readNotifierConfig, fileIn(flags))
}

function fileIn({ 'chaos-config': file }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof file === 'string' ? file : undefined
}

function readBy<Config>(
  read: (document: unknown) => { readonly config: Config; readonly problems: readonly Problem[] },
  path: string | undefined,
): Config {
  const { config, problems } = read(path === undefined ? undefined : documentIn(path))
  if (problems.length === 0) return config
  throw new Error(
    `${path === undefined ? 'the configuration' : `--chaos-config ${path}`}: ${problems.map(problemText).join('; ')}`,
  )
}

function documentIn(path: string): unknown {
  try {
    return readYaml(readFileSync(path, 'utf8'), { limits: FILE_LIMITS })
  } catch (error) {
    if (!(error instanceof YamlError) && !(error instanceof Error && 'code' in error)) throw error
    // The message of a YamlError may quote the file, which may have secrets.
    const found = error instanceof YamlError ? `${error.reason} in line ${error.line}` : error.message
    throw new Error(`--chaos-config ${path}: found ${found}, expected a file of YAML`)
  }
}

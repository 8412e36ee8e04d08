// Opens the wing in a worker: reads the operators' configuration once, at the start.

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
import { openAgent, SINK_SETTING, withSink, openSink } from './metrics/sink.ts'
import { measureGauges } from './metrics/gauges.ts'
import { metricsObserver } from './metrics/observer.ts'
import { openNotifiers } from './notifiers/open.ts'

export const chaos: ActivityWing<typeof chaosWing.flags> = {
  open(deps, flags) {
    const config = configFor(flags, deps)
    const notifierConfig = notifiersFor(flags)
    const eventsTo = notifierConfig.datadog
      ? agentOf(deps, 'controller.notifiers.datadog.enabled: true', false)
      : undefined
    const notifiers = openNotifiers(notifierConfig, deps.log, eventsTo)
    const closeSink = sinkIn(deps, config)
    return {
      activities: {},
      parts: {
        publishedRanges: rangesFor(config, deps.log.warn.bind(deps.log)),
      } satisfies CloudParts,
      settings: passConfig(config) as unknown as JsonValue,
      notifiers,
      ...observerIn(deps, config),
      close: async () => {
        await Promise.all([closeSink(), eventsTo?.close()])
      },
    }
  },
}

function agentOf({ statsd, log }: Deps, setting: string, isGrouped: boolean): DatadogClient {
  return openAgent({ statsd, setting, isGrouped, warn: log.warn.bind(log) })
}

/** Sends metrics to the sink if the operators configure one. @returns a function that closes it. */
function sinkIn(deps: Deps, { controller }: ChaosConfig): () => Promise<void> {
  const { metrics } = deps
  if (metrics === undefined || controller.metricsSink !== 'datadog') return () => Promise.resolve()
  return openSink({ client: agentOf(deps, SINK_SETTING, true), metrics })
}

export function rangesFor(
  { cloudProviders: config }: ChaosConfig,
  warn: (details: object, message: string) => void,
): PublishedRanges {
  return new PublishedRanges({ config, now: Date.now, warn })
}

/** The observer that counts metrics, if the process has metrics. */
function observerIn(deps: Deps, { controller, injector }: ChaosConfig): Pick<OpenWing, 'observer'> {
  const { metrics, now } = deps
  if (metrics === undefined) return {}
  metrics.count('chaos_controller_restart')
  metrics.measure(async () => await measureGauges(deps, injector.chaosNamespace))
  return { observer: metricsObserver({ metrics, now, defaultDurationMs: controller.defaultDurationMs }) }
}

/**
 * The configuration of a process, from its file, its flags and its environment; the defaults without them.
 *
 * @param flags the values of the flags, parsed or as text. @throws a plain Error that names the file and each invalid
 * field, with the actual and the expected value.
 */
export function configFor(
  flags: Readonly<Record<string, unknown>>,
  { statsd, nodeName }: { readonly statsd?: StatsdEnvironment | undefined; readonly nodeName?: string | undefined },
): ChaosConfig {
  const { 'metrics-sink': sink } = flags
  const read = (document: unknown) => readChaosConfig(withConfigFlags(document, flags))
  const config = withSink(readConfigFile(read, fileIn(flags)), sink, statsd)
  if (nodeName === undefined) return config
  const ownNodes = [...new Set([...(config.controller.ownNodes ?? []), nodeName])]
  return { ...config, controller: { ...config.controller, ownNodes } }
}

/** The notifiers of the same file. @throws like `configFor`. */
export function notifiersFor(flags: Readonly<Record<string, unknown>>): NotifierConfig {
  return readConfigFile(readNotifierConfig, fileIn(flags))
}

function fileIn({ 'chaos-config': file }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof file === 'string' ? file : undefined
}

function readConfigFile<Config>(
  read: (document: unknown) => { readonly config: Config; readonly problems: readonly Problem[] },
  path: string | undefined,
): Config {
  const { config, problems } = read(path === undefined ? undefined : documentIn(path))
  if (problems.length === 0) return config
  const place = path === undefined ? 'the configuration' : `--chaos-config ${path}`
  throw new Error(problems.map((problem) => `${place}: ${problemText(problem)}`).join('\n'))
}

function documentIn(path: string): unknown {
  try {
    return readYaml(readFileSync(path, 'utf8'), { limits: FILE_LIMITS })
  } catch (error) {
    if (!(error instanceof YamlError) && !(error instanceof Error && 'code' in error)) throw error
    // The message of a YamlError may quote the file, which may contain secrets.
    const found = error instanceof YamlError ? `${error.reason} in line ${error.line}` : error.message
    throw new Error(`--chaos-config ${path}: found ${found}; expected a file of YAML`)
  }
}

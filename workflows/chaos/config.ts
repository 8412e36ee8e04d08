// How the operators of a cluster set the wing up: the configuration file that users of chaos-controller know, as what the code asks for. Pure: who reads
// the file is activities/chaos/. Source: spec/chaos.md 2.14.
//
//   C1. What is not in the file is as chaos-controller's flags have it.
//   C2. A field of the wrong type is told with its path, what was found and what was expected. Fields that Pawl does not have are passed over: the file is
//       another program's as well. What it says of notifiers has secrets, and is read apart (notifier-config.ts): this stays in histories.
//   C3. Where chaos pods are is told by `injector.chaosNamespace`. A Disruption that has begun stays with the namespace in which it has (`status.chaosNamespace`).

import { type Cloud, CLOUDS } from './cloud.ts'
import type { JsonValue, Problem } from '../kit/index.ts'
import { EXPECTED_URL, isNothing, type Section, sectionIn, urlProblem } from './config-section.ts'
import { METRICS_SINKS, type MetricsSink } from './metrics.ts'

/** Where an operator's pods may be reached whatever a Disruption says; as in `spec.network.allowedHosts`. */
export interface AllowedHost {
  readonly host?: string
  readonly port?: number
  readonly protocol?: string
  readonly flow?: string
  readonly connState?: string
  readonly dnsResolver?: string
  readonly percentage?: number
}

export interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
  readonly tolerationSeconds?: number
}

/** Durations in milliseconds. JSON, so that it goes into passes. */
export interface ChaosConfig {
  readonly controller: {
    readonly deleteOnly: boolean
    readonly enableSafeguards: boolean
    readonly enableObserver: boolean
    /** Undefined: what has expired stays. */
    readonly expiredDisruptionGCDelayMs?: number | undefined
    readonly defaultDurationMs: number
    /** Undefined: as long as anybody wants. */
    readonly maxDurationMs?: number | undefined
    readonly finalizerDeletionDelayMs: number
    readonly disruptionDeletionTimeoutMs: number
    readonly defaultCronDelayedStartToleranceMs: number
    readonly minimumCronFrequencyMs: number
    readonly targetResourceMissingThresholdMs: number
    readonly disabledDisruptions: readonly string[]
    /** Where metrics are sent, beside being served. */
    readonly metricsSink: MetricsSink
    /** `STATSD_URL` of the worker; it is not in the file. Injectors are given the same. */
    readonly statsdURL?: string | undefined
    /** Where the controller itself runs: nothing disturbs that node. */
    readonly ownNode?: string | undefined
    readonly safeMode: {
      readonly enable: boolean
      readonly namespaceThreshold: number
      readonly clusterThreshold: number
      readonly allowNodeFailure: boolean
      readonly allowNodeLevel: boolean
      readonly environment: string
      readonly permittedUserGroups: readonly string[]
    }
  }
  readonly injector: {
    readonly image: string
    readonly imagePullSecret?: string | undefined
    readonly annotations: Readonly<Record<string, string>>
    readonly labels: Readonly<Record<string, string>>
    readonly serviceAccount: string
    /** C3 */
    readonly chaosNamespace: string
    readonly logLevel: string
    readonly tolerations: readonly Toleration[]
    readonly allowedHosts: readonly AllowedHost[]
    readonly hostResolveIntervalMs: number
    readonly dnsPodResolvConf: string
    readonly dnsNodeResolvConf: string
  }
  readonly handler: {
    readonly enabled: boolean
    readonly image: string
    readonly timeoutMs: number
    readonly maxTimeoutMs: number
    readonly cpu: string
    readonly memory: string
  }
  readonly cloudProviders: {
    readonly pullIntervalMs: number
    /** Where each publishes the addresses of its services; of one that is off there is none. */
    readonly urls: Readonly<Partial<Record<Cloud, string>>>
  }
}

/** Where chaos pods are, where nobody says otherwise. */
export const CHAOS_NAMESPACE = 'chaos-engineering'

/**
 * Where the chaos pods of a Disruption are, by its status (C3). What a former build of Pawl has begun does not say so, and is in the only namespace of such
 * builds; chaos-controller, which keeps no spec, has them where it was configured.
 */
export function chaosHomeOf(
  { chaosNamespace, originalSpec }: { readonly chaosNamespace?: string | undefined; readonly originalSpec?: unknown },
  configured: string,
): string {
  return chaosNamespace ?? (originalSpec === undefined ? configured : CHAOS_NAMESPACE)
}

/** The same as a template of queries (C3): in `settings` is what `passConfig` makes. */
export const CONFIGURED_NAMESPACE = '${settings.injector.chaosNamespace}'

// Source: RFC 1123 labels, as Kubernetes demands of namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Whether a namespace can be called so. */
export function isNamespaceName(text: string): boolean {
  return NAMESPACE.test(text)
}

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

/** C1 */
export const DEFAULT_CONFIG: ChaosConfig = {
  controller: {
    deleteOnly: false,
    enableSafeguards: true,
    enableObserver: true,
    defaultDurationMs: HOUR,
    finalizerDeletionDelayMs: 20 * SECOND,
    disruptionDeletionTimeoutMs: 15 * MINUTE,
    defaultCronDelayedStartToleranceMs: 5 * MINUTE,
    minimumCronFrequencyMs: MINUTE,
    targetResourceMissingThresholdMs: 24 * HOUR,
    disabledDisruptions: [],
    metricsSink: 'noop',
    safeMode: {
      ...{ enable: true, namespaceThreshold: 80, clusterThreshold: 66 },
      ...{ allowNodeFailure: true, allowNodeLevel: true, environment: '', permittedUserGroups: [] },
    },
  },
  injector: {
    image: 'chaos-injector',
    annotations: {},
    labels: {},
    serviceAccount: 'chaos-injector',
    chaosNamespace: CHAOS_NAMESPACE,
    logLevel: 'DEBUG',
    tolerations: [],
    allowedHosts: [],
    hostResolveIntervalMs: MINUTE,
    dnsPodResolvConf: '/etc/resolv.conf',
    dnsNodeResolvConf: '/mnt/host/etc/resolv.conf',
  },
  handler: {
    ...{ enabled: false, image: 'chaos-handler', timeoutMs: MINUTE, maxTimeoutMs: HOUR, cpu: '100m', memory: '100Mi' },
  },
  cloudProviders: {
    pullIntervalMs: 24 * HOUR,
    urls: {
      aws: 'https://ip-ranges.amazonaws.com/ip-ranges.json',
      gcp: 'https://www.gstatic.com/ipranges/goog.json',
      datadog: 'https://ip-ranges.datadoghq.com/',
    },
  },
}

/** What passes see of it, and histories keep. Not where the lists of clouds are: a URL may be secret, and no pass asks for one. */
export type PassConfig = Omit<ChaosConfig, 'cloudProviders'>

export function passConfig({ controller, injector, handler }: ChaosConfig): PassConfig {
  return { controller, injector, handler }
}

/** What the operators have set; what passes of a worker without the wing's file go by is the default. */
export function configOf({ settings }: { readonly settings: JsonValue | undefined }): PassConfig {
  return (settings as PassConfig | undefined) ?? DEFAULT_CONFIG
}

/** @param document what the file holds, parsed; undefined for an empty one. */
export function readChaosConfig(document: unknown): {
  readonly config: ChaosConfig
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const root = sectionIn(problems, '', isNothing(document) ? {} : document)
  const config: ChaosConfig = {
    controller: controllerOf(root.section('controller'), problems),
    injector: injectorOf(root.section('injector')),
    handler: handlerOf(root.section('handler')),
    cloudProviders: cloudProvidersOf(root.section('cloudProviders'), problems),
  }
  if (!isNamespaceName(config.injector.chaosNamespace))
    problems.push({
      field: 'injector.chaosNamespace',
      found: JSON.stringify(config.injector.chaosNamespace),
      expected: `the name of a namespace, such as ${CHAOS_NAMESPACE}`,
    })
  return { config, problems }
}

function controllerOf(section: Section, problems: Problem[]): ChaosConfig['controller'] {
  const usual = DEFAULT_CONFIG.controller
  const ms = (field: DurationField) => section.duration(field, usual[`${field}Ms`])
  return {
    deleteOnly: section.flag('deleteOnly', usual.deleteOnly),
    enableSafeguards: section.flag('enableSafeguards', usual.enableSafeguards),
    enableObserver: section.flag('enableObserver', usual.enableObserver),
    expiredDisruptionGCDelayMs: off(section.duration('expiredDisruptionGCDelay', -1)),
    defaultDurationMs: ms('defaultDuration'),
    maxDurationMs: positive(section.duration('maxDuration', 0)),
    finalizerDeletionDelayMs: ms('finalizerDeletionDelay'),
    disruptionDeletionTimeoutMs: ms('disruptionDeletionTimeout'),
    defaultCronDelayedStartToleranceMs: ms('defaultCronDelayedStartTolerance'),
    minimumCronFrequencyMs: ms('minimumCronFrequency'),
    targetResourceMissingThresholdMs: ms('targetResourceMissingThreshold'),
    disabledDisruptions: section.texts('disabledDisruptions'),
    metricsSink: metricsSinkOf(section.text('metricsSink', usual.metricsSink), problems),
    safeMode: safeModeOf(section.section('safeMode')),
  }
}

function metricsSinkOf(text: string, problems: Problem[]): MetricsSink {
  const sink = METRICS_SINKS.find((one) => one === text)
  if (sink !== undefined) return sink
  problems.push({
    ...{ field: 'controller.metricsSink', found: JSON.stringify(text), expected: METRICS_SINKS.join(' or ') },
  })
  return DEFAULT_CONFIG.controller.metricsSink
}

type DurationField =
  | 'defaultDuration'
  | 'finalizerDeletionDelay'
  | 'disruptionDeletionTimeout'
  | 'defaultCronDelayedStartTolerance'
  | 'minimumCronFrequency'
  | 'targetResourceMissingThreshold'

function safeModeOf(section: Section): ChaosConfig['controller']['safeMode'] {
  const usual = DEFAULT_CONFIG.controller.safeMode
  return {
    enable: section.flag('enable', usual.enable),
    namespaceThreshold: section.number('namespaceThreshold', usual.namespaceThreshold),
    clusterThreshold: section.number('clusterThreshold', usual.clusterThreshold),
    allowNodeFailure: section.flag('allowNodeFailure', usual.allowNodeFailure),
    allowNodeLevel: section.flag('allowNodeLevel', usual.allowNodeLevel),
    environment: section.text('environment', usual.environment),
    permittedUserGroups: section.texts('permittedUserGroups'),
  }
}

function injectorOf(section: Section): ChaosConfig['injector'] {
  const usual = DEFAULT_CONFIG.injector
  const network = section.section('networkDisruption')
  const imagePullSecret = section.text('imagePullSecrets', '')
  return {
    image: section.text('image', usual.image),
    ...(imagePullSecret !== '' && { imagePullSecret }),
    annotations: section.textMap('annotations'),
    labels: section.textMap('labels'),
    serviceAccount: section.text('serviceAccount', usual.serviceAccount),
    chaosNamespace: section.text('chaosNamespace', usual.chaosNamespace),
    logLevel: section.text('logLevel', usual.logLevel),
    tolerations: section.records('tolerations'),
    allowedHosts: network.records('allowedHosts'),
    hostResolveIntervalMs: network.duration('hostResolveInterval', usual.hostResolveIntervalMs),
    dnsPodResolvConf: network.text('dnsPodResolvConf', usual.dnsPodResolvConf),
    dnsNodeResolvConf: network.text('dnsNodeResolvConf', usual.dnsNodeResolvConf),
  }
}

function handlerOf(section: Section): ChaosConfig['handler'] {
  const usual = DEFAULT_CONFIG.handler
  const resources = section.section('resources')
  return {
    enabled: section.flag('enabled', usual.enabled),
    image: section.text('image', usual.image),
    timeoutMs: section.duration('timeout', usual.timeoutMs),
    maxTimeoutMs: section.duration('maxTimeout', usual.maxTimeoutMs),
    cpu: resources.text('cpu', usual.cpu),
    memory: resources.text('memory', usual.memory),
  }
}

function cloudProvidersOf(section: Section, problems: Problem[]): ChaosConfig['cloudProviders'] {
  const usual = DEFAULT_CONFIG.cloudProviders
  const isOff = section.flag('disableAll', false)
  const urls = CLOUDS.flatMap((cloud) => {
    const own = section.section(cloud)
    const url = own.text('ipRangesURL', usual.urls[cloud] ?? '')
    if (isOff || !own.flag('enabled', true)) return []
    const found = urlProblem(url)
    if (found === undefined) return [[cloud, url] as const]
    problems.push({ field: `cloudProviders.${cloud}.ipRangesURL`, found, expected: EXPECTED_URL })
    return []
  })
  return { pullIntervalMs: section.duration('pullInterval', usual.pullIntervalMs), urls: Object.fromEntries(urls) }
}

function off(ms: number): number | undefined {
  return ms < 0 ? undefined : ms
}

function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined
}

// The operators' configuration of the chaos wing; read-config.ts parses the file. Source: spec/chaos.md 2.14.
//
// C1. Missing fields have the defaults of chaos-controller's flags, except that crons and rollouts are enabled by
//   default.
// C2. notifier-config.ts reads the configuration of notifiers separately, because it contains secrets and this
//   configuration is part of workflow histories.
// C3. `injector.chaosNamespace` is the namespace of chaos pods. A Disruption that has begun stays in the namespace of
//   its first pass (`status.chaosNamespace`).

import type { AllowedHost } from './allowed-host.ts'
import type { Cloud, ExtraRanges } from './cloud.ts'
import type { JsonValue } from '../kit/index.ts'
import type { MetricsSink } from './metrics.ts'

export interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
  readonly tolerationSeconds?: number
}

/** Durations are in milliseconds. The value is JSON, because it is part of passes. */
export interface ChaosConfig {
  readonly controller: {
    readonly deleteOnly: boolean
    readonly enableSafeguards: boolean
    readonly enableObserver: boolean
    /** Undefined: expired Disruptions are not deleted. */
    readonly expiredDisruptionGCDelayMs?: number | undefined
    readonly defaultDurationMs: number
    /** Undefined: unlimited. */
    readonly maxDurationMs?: number | undefined
    readonly finalizerDeletionDelayMs: number
    readonly disruptionDeletionTimeoutMs: number
    readonly defaultCronDelayedStartToleranceMs: number
    readonly minimumCronFrequencyMs: number
    readonly targetResourceMissingThresholdMs: number
    readonly disabledDisruptions: readonly string[]
    /** Whether crons and rollouts are reconciled; absent in passes of older builds, which reconciled them. */
    readonly disruptionCronEnabled?: boolean
    readonly disruptionRolloutEnabled?: boolean
    /** The sink that receives metrics in addition to the metrics endpoint. */
    readonly metricsSink: MetricsSink
    /** `STATSD_URL` of the worker, which is not in the file; injectors get the same value. */
    readonly statsdURL?: string | undefined
    /** The known nodes of the controller's processes; absent if this process knows none. */
    readonly ownNodes?: readonly string[] | undefined
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
    /** The URL of each cloud's published list; absent for a disabled cloud. */
    readonly urls: Readonly<Partial<Record<Cloud, string>>>
    /** The operators' additions to the lists. */
    readonly extraRanges: Readonly<Partial<Record<Cloud, readonly ExtraRanges[]>>>
  }
}

/** The default namespace of chaos pods. */
export const CHAOS_NAMESPACE = 'chaos-engineering'

/**
 * The namespace of a Disruption's chaos pods, from its status (C3). Older builds of Pawl did not record it and used
 * only the default namespace; chaos-controller records no spec and uses the configured namespace.
 */
export function recordedChaosNamespaceOf(
  { chaosNamespace, originalSpec }: { readonly chaosNamespace?: string | undefined; readonly originalSpec?: unknown },
  configured: string,
): string {
  return chaosNamespace ?? (originalSpec === undefined ? configured : CHAOS_NAMESPACE)
}

/** The configured namespace as a template of queries (C3); `settings` is the result of `passConfig`. */
export const CONFIGURED_NAMESPACE = '${settings.injector.chaosNamespace}'

// Source: RFC 1123 labels, as Kubernetes requires for namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Whether the text is a valid namespace name. */
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
    disruptionCronEnabled: true,
    disruptionRolloutEnabled: true,
    metricsSink: 'noop',
    safeMode: {
      enable: true,
      namespaceThreshold: 80,
      clusterThreshold: 66,
      allowNodeFailure: true,
      allowNodeLevel: true,
      environment: '',
      permittedUserGroups: [],
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
    enabled: false,
    image: 'chaos-handler',
    timeoutMs: MINUTE,
    maxTimeoutMs: HOUR,
    cpu: '100m',
    memory: '100Mi',
  },
  cloudProviders: {
    pullIntervalMs: 24 * HOUR,
    urls: {
      aws: 'https://ip-ranges.amazonaws.com/ip-ranges.json',
      gcp: 'https://www.gstatic.com/ipranges/goog.json',
      datadog: 'https://ip-ranges.datadoghq.com/',
    },
    extraRanges: {},
  },
}

/**
 * The part of the configuration that passes see and histories record. URLs of cloud lists are left out: they may be
 * secret, and no pass needs them.
 */
export type PassConfig = Omit<ChaosConfig, 'cloudProviders'>

export function passConfig({ controller, injector, handler }: ChaosConfig): PassConfig {
  return { controller, injector, handler }
}

/** The configuration of a pass; the default if the worker has no configuration of the wing. */
export function configOf({ settings }: { readonly settings: JsonValue | undefined }): PassConfig {
  return (settings as PassConfig | undefined) ?? DEFAULT_CONFIG
}

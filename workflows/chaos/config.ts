// How the operators of a cluster set the wing up, as what the code asks for; what the file has of it is read in read-config.ts. Source: spec/chaos.md 2.14.
//
//   C1. What is not in the file is as chaos-controller's flags have it, but for crons and rollouts, which are followed unless the file says otherwise.
//   C2. What the file says of notifiers has secrets, and is read apart (notifier-config.ts): this stays in histories.
//   C3. Where chaos pods are is told by `injector.chaosNamespace`. A Disruption that has begun stays with the namespace in which it has (`status.chaosNamespace`).

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
    /** Whether crons and rollouts are followed; absent in passes of former builds, which followed them. */
    readonly disruptionCronEnabled?: boolean
    readonly disruptionRolloutEnabled?: boolean
    /** Where metrics are sent, beside being served. */
    readonly metricsSink: MetricsSink
    /** `STATSD_URL` of the worker; it is not in the file. Injectors are given the same. */
    readonly statsdURL?: string | undefined
    /** Nodes on which the controller itself runs, as far as this process knows; absent: it knows none. */
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
    /** Where each publishes the addresses of its services; of one that is off there is none. */
    readonly urls: Readonly<Partial<Record<Cloud, string>>>
    /** What operators add to the lists. */
    readonly extraRanges: Readonly<Partial<Record<Cloud, readonly ExtraRanges[]>>>
  }
}

/** Where chaos pods are, where nobody says otherwise. */
export const CHAOS_NAMESPACE = 'chaos-engineering'

/**
 * Where the chaos pods of a Disruption are, by its status (C3). What a former build of Pawl has begun does not say so, and is in the only namespace of such
 * builds; chaos-controller, which keeps no spec, has them where it was configured.
 */
export function recordedChaosNamespaceOf(
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

/** What passes see of it, and histories keep. Not where the lists of clouds are: a URL may be secret, and no pass asks for one. */
export type PassConfig = Omit<ChaosConfig, 'cloudProviders'>

export function passConfig({ controller, injector, handler }: ChaosConfig): PassConfig {
  return { controller, injector, handler }
}

/** What the operators have set; what passes of a worker without the wing's file go by is the default. */
export function configOf({ settings }: { readonly settings: JsonValue | undefined }): PassConfig {
  return (settings as PassConfig | undefined) ?? DEFAULT_CONFIG
}

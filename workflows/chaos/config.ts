// How the operators of a cluster set the wing up: the configuration file that users of chaos-controller know, as what the code asks for. Pure: who reads
// the file is activities/chaos/. Source: spec/chaos.md 2.14.
//
//   C1. What is not in the file is as chaos-controller's flags have it.
//   C2. A field of the wrong type is told with its path, what was found and what was expected. Fields that Pawl does not have are passed over: the file is
//       another program's as well.

import type { Problem } from '../kit/index.ts'
import { durationMs, EXPECTED_DURATION } from './go-duration.ts'

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
}

/** The only namespace of chaos pods that the roles of the wing are made for. */
export const CHAOS_NAMESPACE = 'chaos-engineering'

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
}

/** @param document what the file holds, parsed; undefined for an empty one. */
export function readChaosConfig(document: unknown): {
  readonly config: ChaosConfig
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const root = sectionIn(problems, '', isNothing(document) ? {} : document)
  const [controller, injector, handler] = [
    root.section('controller'),
    root.section('injector'),
    root.section('handler'),
  ]
  const safe = controller.section('safeMode')
  const network = injector.section('networkDisruption')
  const image = imageOf(injector)
  const defaults = DEFAULT_CONFIG
  const config: ChaosConfig = {
    controller: {
      deleteOnly: controller.flag('deleteOnly', defaults.controller.deleteOnly),
      enableSafeguards: controller.flag('enableSafeguards', defaults.controller.enableSafeguards),
      enableObserver: controller.flag('enableObserver', defaults.controller.enableObserver),
      expiredDisruptionGCDelayMs: off(controller.duration('expiredDisruptionGCDelay', -1)),
      defaultDurationMs: controller.duration('defaultDuration', defaults.controller.defaultDurationMs),
      maxDurationMs: positive(controller.duration('maxDuration', 0)),
      finalizerDeletionDelayMs: controller.duration(
        'finalizerDeletionDelay',
        defaults.controller.finalizerDeletionDelayMs,
      ),
      disruptionDeletionTimeoutMs: controller.duration(
        'disruptionDeletionTimeout',
        defaults.controller.disruptionDeletionTimeoutMs,
      ),
      defaultCronDelayedStartToleranceMs: controller.duration(
        'defaultCronDelayedStartTolerance',
        defaults.controller.defaultCronDelayedStartToleranceMs,
      ),
      minimumCronFrequencyMs: controller.duration('minimumCronFrequency', defaults.controller.minimumCronFrequencyMs),
      targetResourceMissingThresholdMs: controller.duration(
        'targetResourceMissingThreshold',
        defaults.controller.targetResourceMissingThresholdMs,
      ),
      disabledDisruptions: controller.texts('disabledDisruptions'),
      safeMode: {
        enable: safe.flag('enable', defaults.controller.safeMode.enable),
        namespaceThreshold: safe.number('namespaceThreshold', defaults.controller.safeMode.namespaceThreshold),
        clusterThreshold: safe.number('clusterThreshold', defaults.controller.safeMode.clusterThreshold),
        allowNodeFailure: safe.flag('allowNodeFailure', defaults.controller.safeMode.allowNodeFailure),
        allowNodeLevel: safe.flag('allowNodeLevel', defaults.controller.safeMode.allowNodeLevel),
        environment: safe.text('environment', defaults.controller.safeMode.environment),
        permittedUserGroups: safe.texts('permittedUserGroups'),
      },
    },
    injector: {
      image,
      ...given('imagePullSecret', injector.text('imagePullSecrets', '')),
      annotations: injector.textMap('annotations'),
      labels: injector.textMap('labels'),
      serviceAccount: injector.text('serviceAccount', defaults.injector.serviceAccount),
      chaosNamespace: injector.text('chaosNamespace', defaults.injector.chaosNamespace),
      logLevel: injector.text('logLevel', defaults.injector.logLevel),
      tolerations: injector.records('tolerations'),
      allowedHosts: network.records('allowedHosts'),
      hostResolveIntervalMs: network.duration('hostResolveInterval', defaults.injector.hostResolveIntervalMs),
      dnsPodResolvConf: network.text('dnsPodResolvConf', defaults.injector.dnsPodResolvConf),
      dnsNodeResolvConf: network.text('dnsNodeResolvConf', defaults.injector.dnsNodeResolvConf),
    },
    handler: {
      enabled: handler.flag('enabled', defaults.handler.enabled),
      image: handler.text('image', defaults.handler.image),
      timeoutMs: handler.duration('timeout', defaults.handler.timeoutMs),
      maxTimeoutMs: handler.duration('maxTimeout', defaults.handler.maxTimeoutMs),
      cpu: handler.section('resources').text('cpu', defaults.handler.cpu),
      memory: handler.section('resources').text('memory', defaults.handler.memory),
    },
  }
  if (config.injector.chaosNamespace !== CHAOS_NAMESPACE)
    problems.push({
      field: 'injector.chaosNamespace',
      found: JSON.stringify(config.injector.chaosNamespace),
      expected: `${CHAOS_NAMESPACE}, for which the roles are made`,
    })
  return { config, problems }
}

function imageOf(injector: Section): string {
  return injector.text('image', DEFAULT_CONFIG.injector.image)
}

function given(field: 'imagePullSecret', value: string): object {
  return value === '' ? {} : { [field]: value }
}

function off(ms: number): number | undefined {
  return ms < 0 ? undefined : ms
}

function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined
}

interface Section {
  section(field: string): Section
  flag(field: string, otherwise: boolean): boolean
  number(field: string, otherwise: number): number
  text(field: string, otherwise: string): string
  /** In milliseconds. */
  duration(field: string, otherwise: number): number
  texts(field: string): readonly string[]
  textMap(field: string): Readonly<Record<string, string>>
  records(field: string): readonly object[]
}

/** C2 */
function sectionIn(problems: Problem[], at: string, value: unknown): Section {
  const pathOf = (field: string) => (at === '' ? field : `${at}.${field}`)
  const wrong = (field: string, found: unknown, expected: string) => {
    problems.push({ field: field === '' ? at : pathOf(field), found: quoted(found), expected })
  }
  const fields = isFields(value) ? value : {}
  if (!isFields(value)) wrong('', value, 'fields')
  function read<T>(field: string, otherwise: T, isOne: (found: unknown) => boolean, expected: string): T {
    const found = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (isNothing(found)) return otherwise
    if (isOne(found)) return found as T
    wrong(field, found, expected)
    return otherwise
  }
  return {
    section: (field) => sectionIn(problems, pathOf(field), isNothing(fields[field]) ? {} : fields[field]),
    flag: (field, otherwise) => read(field, otherwise, (one) => typeof one === 'boolean', 'true or false'),
    number: (field, otherwise) => read(field, otherwise, (one) => Number.isInteger(one), 'a whole number'),
    text: (field, otherwise) => read(field, otherwise, (one) => typeof one === 'string', 'a text'),
    duration(field, otherwise) {
      const found = read<unknown>(field, undefined, (one) => durationMs(one) !== undefined, EXPECTED_DURATION)
      return durationMs(found) ?? otherwise
    },
    texts: (field) => read(field, [], (one) => isListOf(one, isText), 'a list of texts'),
    textMap: (field) =>
      read(field, {}, (one) => isFields(one) && Object.values(one).every(isText), 'fields with texts'),
    records: (field) => read(field, [], (one) => isListOf(one, isFields), 'a list of objects'),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

function isNothing(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne)
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function quoted(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60)
}

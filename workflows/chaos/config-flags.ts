// The flags of chaos-controller's manager, each with the corresponding field of the configuration file. Source:
// spec/chaos.md 2.14.
//
// F1. A flag overrides the file, as in chaos-controller.
// F2. Notifiers have no flags: every user of the machine can read arguments, and notifiers need secrets.

import { allowedHostIn, EXPECTED_HOST } from './allowed-host.ts'
import { durationMs, EXPECTED_DURATION } from './go-duration.ts'
import type { Flag } from '../kit/index.ts'

interface FlagType {
  readonly takes: string
  readonly isList?: true
  /** Checks each entry of a list. */
  readonly accepts: (text: string) => boolean
  readonly expected: string
  /** The value in the format of the file. */
  readonly value: (texts: readonly string[]) => unknown
}

const one = ([text]: readonly string[]) => text

const SWITCH: FlagType = {
  takes: '[true-or-false]',
  accepts: (text) => text === 'true' || text === 'false',
  expected: 'true or false',
  value: ([text]) => text === 'true',
}
const NUMBER: FlagType = {
  takes: '<number>',
  accepts: (text) => /^\d{1,9}$/.test(text),
  expected: 'a whole number',
  value: ([text]) => Number(text),
}
const TEXT: FlagType = { takes: '<text>', accepts: () => true, expected: 'a text', value: one }
const DURATION: FlagType = {
  takes: '<duration>',
  accepts: (text) => durationMs(text) !== undefined,
  expected: EXPECTED_DURATION,
  value: one,
}
const TEXTS: FlagType = {
  takes: '<texts>',
  isList: true,
  accepts: (text) => text !== '',
  expected: 'texts, separated by commas',
  value: (texts) => texts,
}
const HOSTS: FlagType = {
  takes: '<hosts>',
  isList: true,
  expected: EXPECTED_HOST,
  value: (texts) => texts,
  accepts: (text) => allowedHostIn(text) !== undefined,
}
const MAP: FlagType = {
  takes: '<key=value>',
  isList: true,
  accepts: (text) => /^[^=]+=/.test(text),
  expected: 'key=value',
  value: (texts) => Object.fromEntries(texts.map(keyAndValue)),
}

function keyAndValue(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}

type FlagEntry = readonly [field: string, reading: FlagType]

const ENTRIES = {
  'delete-only': ['controller.deleteOnly', SWITCH],
  'enable-safeguards': ['controller.enableSafeguards', SWITCH],
  'enable-observer': ['controller.enableObserver', SWITCH],
  'default-duration': ['controller.defaultDuration', DURATION],
  'max-duration': ['controller.maxDuration', DURATION],
  'expired-disruption-gc-delay': ['controller.expiredDisruptionGCDelay', DURATION],
  'finalizer-deletion-delay': ['controller.finalizerDeletionDelay', DURATION],
  'disruption-deletion-timeout': ['controller.disruptionDeletionTimeout', DURATION],
  'disruption-cron-enabled': ['controller.disruptionCronEnabled', SWITCH],
  'disruption-rollout-enabled': ['controller.disruptionRolloutEnabled', SWITCH],
  'default-cron-delayed-start-tolerance': ['controller.defaultCronDelayedStartTolerance', DURATION],
  'minimum-cron-frequency': ['controller.minimumCronFrequency', DURATION],
  'target-resource-missing-threshold': ['controller.targetResourceMissingThreshold', DURATION],
  'disabled-disruptions': ['controller.disabledDisruptions', TEXTS],
  'safemode-enable': ['controller.safeMode.enable', SWITCH],
  'safemode-environment': ['controller.safeMode.environment', TEXT],
  'safemode-namespace-threshold': ['controller.safeMode.namespaceThreshold', NUMBER],
  'safemode-cluster-threshold': ['controller.safeMode.clusterThreshold', NUMBER],
  'safemode-allow-node-failure': ['controller.safeMode.allowNodeFailure', SWITCH],
  'safemode-allow-node-level': ['controller.safeMode.allowNodeLevel', SWITCH],
  'permitted-user-groups': ['controller.safeMode.permittedUserGroups', TEXTS],
  'cloud-providers-disable-all': ['controller.cloudProviders.disableAll', SWITCH],
  'cloud-providers-pull-interval': ['controller.cloudProviders.pullInterval', DURATION],
  'cloud-providers-aws-enabled': ['controller.cloudProviders.aws.enabled', SWITCH],
  'cloud-providers-aws-iprangesurl': ['controller.cloudProviders.aws.ipRangesURL', TEXT],
  'cloud-providers-gcp-enabled': ['controller.cloudProviders.gcp.enabled', SWITCH],
  'cloud-providers-gcp-iprangesurl': ['controller.cloudProviders.gcp.ipRangesURL', TEXT],
  'cloud-providers-datadog-enabled': ['controller.cloudProviders.datadog.enabled', SWITCH],
  'cloud-providers-datadog-iprangesurl': ['controller.cloudProviders.datadog.ipRangesURL', TEXT],
  'chaos-namespace': ['injector.chaosNamespace', TEXT],
  'injector-image': ['injector.image', TEXT],
  'image-pull-secrets': ['injector.imagePullSecrets', TEXT],
  'injector-annotations': ['injector.annotations', MAP],
  'injector-labels': ['injector.labels', MAP],
  'injector-service-account': ['injector.serviceAccount', TEXT],
  'injector-log-level': ['injector.logLevel', TEXT],
  'injector-network-disruption-allowed-hosts': ['injector.networkDisruption.allowedHosts', HOSTS],
  'injector-network-disruption-host-resolve-interval': ['injector.networkDisruption.hostResolveInterval', DURATION],
  'handler-enabled': ['handler.enabled', SWITCH],
  'handler-image': ['handler.image', TEXT],
  'handler-timeout': ['handler.timeout', DURATION],
  'handler-max-timeout': ['handler.maxTimeout', DURATION],
  'handler-cpu': ['handler.cpu', TEXT],
  'handler-memory': ['handler.memory', TEXT],
} as const satisfies Readonly<Record<string, FlagEntry>>

type Name = keyof typeof ENTRIES

/** The flags of worker, webhook and `pawl dev`. */
export const CONFIG_FLAGS = Object.fromEntries(
  Object.entries<FlagEntry>(ENTRIES).map(([name, [field, { takes, isList, accepts, expected }]]) => [
    name,
    {
      takes,
      reads: isList === true ? 'list' : 'text',
      accepts,
      expected,
      inDev: 'as-given',
      inWebhook: true,
      seldom: true,
      text: `overrides ${field} of --chaos-config`,
    },
  ]),
) as unknown as Readonly<Record<Name, Flag>>

/**
 * Merges the given flags into the document (F1).
 *
 * @param document the parsed file. @param flags their values; a list may also be one comma-separated text. Unknown
 * flags are ignored.
 */
export function withConfigFlags(document: unknown, flags: Readonly<Record<string, unknown>>): unknown {
  return Object.entries<FlagEntry>(ENTRIES).reduce((config, [name, [field, { isList, value }]]) => {
    const texts = textsOf(flags[name], isList === true)
    return texts.length === 0 ? config : setField(config, field.split('.'), value(texts))
  }, document)
}

function textsOf(given: unknown, isList: boolean): readonly string[] {
  if (Array.isArray(given)) return given as readonly string[]
  if (typeof given !== 'string') return []
  return isList ? given.split(',').map((text) => text.trim()) : [given]
}

/** A value that is not an object where an object is expected stays unchanged: the reader of the document reports it. */
function setField(document: unknown, [field = '', ...rest]: readonly string[], value: unknown): unknown {
  const fields = document ?? {}
  if (typeof fields !== 'object' || Array.isArray(fields)) return document
  const before = (fields as Readonly<Record<string, unknown>>)[field]
  return { ...fields, [field]: rest.length === 0 ? value : setField(before, rest, value) }
}

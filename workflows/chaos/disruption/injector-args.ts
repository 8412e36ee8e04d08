// Builds the injector's command line of a chaos pod, in chaos-controller's order of arguments. Pure. Source:
// spec/chaos.md 3.2, 8.1.
//
// A1. Containers are sorted by name.
// A2. Each text of the spec becomes one argument or one part of an argument. The rules about specs refuse the
//   separators (`;`, in a record `:`).

import { hostText } from '../allowed-host.ts'
import { kindFieldsOf, type InjectorKindName, INJECTOR_KINDS } from '../contract.ts'
import type { ChaosConfig } from '../config.ts'
import { goDurationOfMs, normalizeGoDuration } from '../go-duration.ts'
import type { MetricsSink } from '../metrics.ts'
import type { DisruptionSpec } from './kind.ts'
import { countText, readCount, readPercent } from './rules/share.ts'
import type { NetworkDisruption, NetworkHost } from './schema/network.ts'
import { timestampText } from '../timestamp.ts'
import type { DisruptionTimes } from './times.ts'

/**
 * The controller waits this much longer for an injector than the injector's own deadline. Source: spec/chaos.md 1.3.
 */
export const DEADLINE_MARGIN_MS = 2000

export interface InjectorCall {
  readonly kind: InjectorKindName
  readonly spec: DisruptionSpec
  readonly disruption: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly target: { readonly name: string; readonly node: string; readonly ip: string }
  /** Empty at level node. */
  readonly containers: readonly { readonly name: string; readonly id: string }[]
  readonly times: DisruptionTimes
  /** The address ranges of the cloud services in the spec. */
  readonly cloudHosts: readonly NetworkHost[]
  readonly config: ChaosConfig['injector']
  readonly metricsSink: MetricsSink
}

export function injectorArgs(call: InjectorCall): readonly string[] {
  const { kind, spec, times } = call
  return [
    ...kindArgs(kind, withHosts(spec, call.cloudHosts)),
    ...commonArgs(call),
    ...(kind === 'network-disruption' ? networkExtras(call) : []),
    ...['--deadline', timestampText(times.end + DEADLINE_MARGIN_MS)],
  ]
}

function withHosts(spec: DisruptionSpec, more: readonly NetworkHost[]): DisruptionSpec {
  if (more.length === 0) return spec
  return { ...spec, network: { ...spec.network, hosts: [...(spec.network?.hosts ?? []), ...more] } }
}

/** Subcommand and flags of the kind. */
function kindArgs(kind: InjectorKindName, spec: DisruptionSpec): readonly string[] {
  const isInSpec = kindFieldsOf(spec).includes(fieldOf(kind))
  if (!isInSpec) throw new Error(`spec.${fieldOf(kind)} is missing; ${kind} needs it`)
  return KIND_ARGS[kind](spec)
}

function fieldOf(kind: InjectorKindName) {
  return INJECTOR_KINDS.find(({ name }) => name === kind)?.field ?? 'network'
}

type KindArgs = (spec: DisruptionSpec) => readonly string[]

const KIND_ARGS: Readonly<Record<InjectorKindName, KindArgs>> = {
  'network-disruption': ({ network = {} }) => ['network-disruption', ...networkArgs(network)],
  'node-failure': ({ nodeFailure }) => ['node-failure', 'inject', ...boolFlag('--shutdown', nodeFailure?.shutdown)],
  'container-failure': ({ containerFailure }) => [
    'container-failure',
    ...boolFlag('--forced', containerFailure?.forced),
  ],
  'cpu-pressure': ({ cpuPressure }) => [
    'cpu-pressure',
    '--count',
    countText(readCount(cpuPressure?.count) ?? { percent: 100 }),
  ],
  'memory-pressure'({ memoryPressure }) {
    const ramp = normalizeGoDuration(memoryPressure?.rampDuration)
    const isRamped = ramp !== undefined && ramp !== '0s'
    return [
      ...['memory-pressure', '--target-percent', String(readPercent(memoryPressure?.targetPercent) ?? '')],
      ...(isRamped ? ['--ramp-duration', ramp] : []),
    ]
  },
  'disk-pressure'({ diskPressure }) {
    const { readBytesPerSec, writeBytesPerSec } = diskPressure?.throttling ?? {}
    return [
      ...['disk-pressure', '--path', diskPressure?.path ?? ''],
      ...numberFlag('--read-bytes-per-sec', readBytesPerSec),
      ...numberFlag('--write-bytes-per-sec', writeBytesPerSec),
    ]
  },
  'disk-failure'({ diskFailure }) {
    const code = diskFailure?.openat?.exitCode ?? ''
    return [
      'disk-failure',
      ...(diskFailure?.paths ?? []).flatMap((path) => ['--path', path.trim()]),
      ...(code === '' ? [] : ['--exit-code', code]),
      ...['--probability', text(diskFailure?.probability, '100%')],
    ]
  },
  'grpc-disruption'({ grpc }) {
    const alterations = (grpc?.endpoints ?? []).map(({ endpoint, error = '', override = '', queryPercent = 0 }) =>
      [endpoint, ...(error === '' ? ['override', override] : ['error', error]), queryPercent].join(';'),
    )
    return [
      ...['grpc-disruption', '--port', text(grpc?.port, '')],
      ...alterations.flatMap((one) => ['--endpoint-alterations', one]),
    ]
  },
  'dns-disruption'({ dns }) {
    const records = (dns?.records ?? []).map(({ hostname, record }) =>
      [hostname, record.type, record.value, record.ttl ?? 0].join(':'),
    )
    return [
      ...['dns-disruption', '--records', records.join(';')],
      ...['--port', String(dns?.port === undefined || dns.port === 0 ? 53 : dns.port)],
      ...['--protocol', text(dns?.protocol, 'both')],
    ]
  },
  'pod-replacement'({ podReplacement }) {
    const { deleteStorage, forceDelete, gracePeriodSeconds } = podReplacement ?? {}
    return [
      ...['pod-replacement', 'inject', ...boolFlag('--delete-storage', deleteStorage !== false)],
      ...boolFlag('--force-delete', forceDelete),
      ...numberFlag('--grace-period-seconds', gracePeriodSeconds),
    ]
  },
}

function networkArgs(network: NetworkDisruption): readonly string[] {
  const { corrupt, drop, duplicate, delay, delayJitter, bandwidthLimit } = network
  const { hosts = [], allowedHosts = [], services = [], http } = network
  const effects = { corrupt, drop, duplicate, delay, 'delay-jitter': delayJitter, 'bandwidth-limit': bandwidthLimit }
  return [
    ...Object.entries(effects).flatMap(([name, value = 0]) => [`--${name}`, String(value)]),
    ...hosts.flatMap((host) => ['--hosts', hostText(host)]),
    ...allowedHosts.flatMap((host) => ['--allowed-hosts', hostText(host)]),
    ...services.flatMap((service) => ['--services', serviceText(service)]),
    ...(http?.methods ?? []).flatMap((method) => ['--method', method.toUpperCase()]),
    ...(http?.paths ?? []).flatMap((path) => ['--path', path]),
  ]
}

/** `name;namespace;port-portname;...;percentage` */
function serviceText({
  name,
  namespace,
  ports = [],
  percentage = 100,
}: NonNullable<NetworkDisruption['services']>[number]): string {
  return [name, namespace, ...ports.map((port) => `${port.port ?? 0}-${port.name ?? ''}`), percentage].join(';')
}

function commonArgs({
  spec,
  disruption,
  target,
  containers,
  times,
  config,
  metricsSink,
}: InjectorCall): readonly string[] {
  const isOfNode = spec.level === 'node'
  const { activeDuration, dormantDuration, initialDelay } = spec.pulse ?? {}
  return [
    ...['--metrics-sink', metricsSink, '--level', isOfNode ? 'node' : 'pod'],
    ...(isOfNode ? [] : ['--target-containers', containersText(containers), '--target-pod-ip', target.ip]),
    ...['--chaos-namespace', config.chaosNamespace],
    ...['--log-context-disruption-name', disruption.name, '--log-context-disruption-namespace', disruption.namespace],
    ...['--log-context-disruption-uid', disruption.uid],
    ...['--log-context-target-name', target.name, '--log-context-target-node-name', target.node],
    ...boolFlag('--dry-run', spec.dryRun),
    ...boolFlag('--on-init', spec.onInit),
    ...durationFlag('--pulse-active-duration', activeDuration),
    ...durationFlag('--pulse-dormant-duration', dormantDuration),
    ...durationFlag('--pulse-initial-delay', initialDelay),
    ...['--not-injected-before', timestampText(times.inject)],
  ]
}

/** A1 */
function containersText(containers: InjectorCall['containers']): string {
  const inOrder = [...containers].sort((one, other) => (one.name < other.name ? -1 : 1))
  return inOrder.map(({ name, id }) => `${name};${id}`).join(',')
}

function networkExtras({ spec, config }: InjectorCall): readonly string[] {
  const { allowedHosts, hostResolveIntervalMs, dnsPodResolvConf, dnsNodeResolvConf } = config
  const isOpen = spec.network?.disableDefaultAllowedHosts === true
  return [
    ...(isOpen ? [] : allowedHosts.flatMap((host) => ['--allowed-hosts', hostText(host)])),
    ...['--dns-pod-resolv-conf', dnsPodResolvConf, '--dns-node-resolv-conf', dnsNodeResolvConf],
    ...['--host-resolve-interval', goDurationOfMs(hostResolveIntervalMs)],
  ]
}

function boolFlag(flag: string, isGiven: boolean | undefined): readonly string[] {
  return isGiven === true ? [flag] : []
}

function numberFlag(flag: string, value: number | undefined): readonly string[] {
  return value === undefined ? [] : [flag, String(value)]
}

function durationFlag(flag: string, value: string | number | undefined): readonly string[] {
  const textOr = value === undefined || value === '' ? undefined : normalizeGoDuration(value)
  return textOr === undefined ? [] : [flag, textOr]
}

function text(value: string | number | undefined, otherwise: string): string {
  return value === undefined || value === '' ? otherwise : String(value)
}

// Parses the command line of an injector: a kind, its flags, the common flags. Source: spec/chaos.md 3.2.

import type { InjectorKindName } from '../contract.ts'
import { durationMs, EXPECTED_DURATION } from '../go-duration.ts'
import { absolutePath, anyText, Flags, moment, oneOf, percent } from './flags.ts'
import { type Grammar, integerIn } from '../grammar.ts'
import { cpuCount, dnsRecords, endpointAlteration, serviceRule, targetContainers } from './grammars.ts'
import { hostRule } from '../host-rule.ts'
import { type CommonFlags, type Invocation, KINDS, type KindSpec, type NetworkSpec } from './invocation.ts'

/** The problems of a command line, one sentence for each flag. */
export interface FlagProblems {
  readonly problems: readonly string[]
}

const UNLIMITED = Number.MAX_SAFE_INTEGER

/** Parses all arguments; the first is the kind. */
export function readInvocation(args: readonly string[]): Invocation | FlagProblems {
  const kind = KINDS.find((one) => one === args[0])
  if (kind === undefined)
    return {
      problems: [`found ${args[0] === undefined ? 'no kind' : `'${args[0]}'`}; expected one of ${KINDS.join(', ')}`],
    }
  // In the API's golden arguments, two of the kinds have a second word.
  const takesInject = kind === 'node-failure' || kind === 'pod-replacement'
  const flags = new Flags(args.slice(takesInject && args[1] === 'inject' ? 2 : 1))
  const spec = SPECS[kind](flags)
  const common = commonFlags(flags, kind)
  flags.refuseUnknown()
  return flags.problems.length > 0 ? { problems: flags.problems } : { spec, common }
}

const SPECS: { readonly [Kind in InjectorKindName]: (flags: Flags) => KindSpec } = {
  'network-disruption': (flags) => ({ kind: 'network-disruption', network: networkSpec(flags) }),
  'node-failure': (flags) => ({ kind: 'node-failure', shutdown: flags.switch('shutdown') }),
  'pod-replacement': (flags) => ({
    kind: 'pod-replacement',
    deleteStorage: flags.switch('delete-storage'),
    forceDelete: flags.switch('force-delete'),
    ...withoutUndefined({ gracePeriodSeconds: flags.optional('grace-period-seconds', integerIn(0, UNLIMITED)) }),
  }),
  'container-failure': (flags) => ({ kind: 'container-failure', forced: flags.switch('forced') }),
  'cpu-pressure': (flags) => ({ kind: 'cpu-pressure', count: flags.withDefault('count', cpuCount, { percent: 100 }) }),
  'memory-pressure': (flags) => ({
    kind: 'memory-pressure',
    targetPercent: flags.required('target-percent', percent(1, 100), 1),
    rampMs: flags.withDefault('ramp-duration', duration, 0),
  }),
  'disk-pressure': (flags) => {
    const throttles = withoutUndefined({
      readBytesPerSec: flags.optional('read-bytes-per-sec', integerIn(1, UNLIMITED)),
      writeBytesPerSec: flags.optional('write-bytes-per-sec', integerIn(1, UNLIMITED)),
    })
    if (Object.keys(throttles).length === 0)
      flags.refuse('read-bytes-per-sec', 'found nothing; expected it or --write-bytes-per-sec')
    return { kind: 'disk-pressure', path: flags.required('path', absolutePath, '/'), ...throttles }
  },
  'disk-failure': (flags) => {
    const paths = flags.every('path', absolutePath)
    if (paths.length === 0) flags.refuse('path', 'found nothing; expected an absolute path')
    return {
      kind: 'disk-failure',
      paths,
      probability: flags.withDefault('probability', percent(1, 100), 100),
      ...withoutUndefined({ exitCode: flags.optional('exit-code', oneOf(ERRNOS)) }),
    }
  },
  'grpc-disruption': (flags) => {
    const alterations = flags.every('endpoint-alterations', endpointAlteration)
    if (alterations.length === 0)
      flags.refuse('endpoint-alterations', `found nothing; expected ${endpointAlteration.expected}`)
    return { kind: 'grpc-disruption', port: flags.required('port', integerIn(1, 65535), 1), alterations }
  },
  'dns-disruption': (flags) => ({
    kind: 'dns-disruption',
    records: flags.required('records', dnsRecords, []),
    port: flags.withDefault('port', integerIn(1, 65535), 53),
    protocol: flags.withDefault('protocol', oneOf(['udp', 'tcp', 'both']), 'both'),
  }),
}

// Source: spec/chaos.md 1.6.
const ERRNOS = [
  ...['EACCES', 'EDQUOT', 'EEXIST', 'EFAULT', 'EFBIG', 'EINTR', 'EISDIR', 'ELOOP', 'EMFILE', 'ENAMETOOLONG', 'ENFILE'],
  ...[
    'ENODEV',
    'ENOENT',
    'ENOMEM',
    'ENOSPC',
    'ENOTDIR',
    'ENXIO',
    'EOVERFLOW',
    'EPERM',
    'EROFS',
    'ETXTBSY',
    'EWOULDBLOCK',
  ],
]

const duration: Grammar<number> = {
  parse: (text) => {
    const ms = durationMs(text)
    return ms === undefined || ms < 0 ? undefined : ms
  },
  expected: EXPECTED_DURATION,
}

function networkSpec(flags: Flags): NetworkSpec {
  const share = (name: string) => flags.withDefault(name, integerIn(0, 100), 0)
  const spec = {
    hosts: flags.every('hosts', hostRule),
    allowedHosts: flags.every('allowed-hosts', hostRule),
    services: flags.every('services', serviceRule),
    drop: share('drop'),
    duplicate: share('duplicate'),
    corrupt: share('corrupt'),
    delayMs: flags.withDefault('delay', integerIn(0, 60_000), 0),
    delayJitter: share('delay-jitter'),
    bandwidthLimit: flags.withDefault('bandwidth-limit', bandwidth, 0),
    methods: flags.every('method', anyText),
    paths: flags.every('path', absolutePath),
    hostResolveIntervalMs: flags.withDefault('host-resolve-interval', duration, 60_000),
    dnsPodResolvConf: flags.withDefault('dns-pod-resolv-conf', absolutePath, '/etc/resolv.conf'),
    dnsNodeResolvConf: flags.withDefault('dns-node-resolv-conf', absolutePath, '/mnt/host/etc/resolv.conf'),
  }
  const effects = [spec.drop, spec.duplicate, spec.corrupt, spec.delayMs, spec.bandwidthLimit]
  if (effects.every((effect) => effect === 0))
    flags.refuse(
      'drop',
      'found no effect; expected --drop, --duplicate, --corrupt, --delay or --bandwidth-limit above 0',
    )
  if (spec.hostResolveIntervalMs === 0) flags.refuse('host-resolve-interval', "found '0s'; expected more")
  return spec
}

// Source: spec/chaos.md 1.5: below 32 bytes in a second nothing passes.
const bandwidth: Grammar<number> = {
  parse: (text) => (text === '0' ? 0 : integerIn(32, UNLIMITED).parse(text)),
  expected: '0, or an integer of at least 32 bytes in a second',
}

function commonFlags(flags: Flags, kind: InjectorKindName): CommonFlags {
  const text = (name: string) => flags.withDefault(`log-context-${name}`, anyText, '')
  const level = flags.required('level', oneOf(['pod', 'node'] as const), 'pod')
  const [activeMs, dormantMs] = [
    flags.optional('pulse-active-duration', duration),
    flags.optional('pulse-dormant-duration', duration),
  ]
  if ((activeMs === undefined) !== (dormantMs === undefined))
    flags.refuse('pulse-active-duration', 'expected together with --pulse-dormant-duration, or neither')
  const containers = flags.withDefault('target-containers', targetContainers, [])
  if (level === 'pod' && containers.length === 0 && kind !== 'pod-replacement')
    flags.refuse('target-containers', `found nothing; expected ${targetContainers.expected}, as --level is pod`)
  const podIp = flags.optional('target-pod-ip', anyText)
  if (kind === 'pod-replacement' && podIp === undefined)
    flags.refuse('target-pod-ip', 'found nothing; expected the address of the pod')
  return {
    dryRun: flags.switch('dry-run'),
    metricsSink: flags.withDefault('metrics-sink', oneOf(['noop', 'datadog'] as const), 'noop'),
    level,
    targetContainers: containers,
    onInit: flags.switch('on-init'),
    pulseInitialDelayMs: flags.withDefault('pulse-initial-delay', duration, 0),
    chaosNamespace: flags.withDefault('chaos-namespace', anyText, 'chaos-engineering'),
    ...(activeMs === undefined || dormantMs === undefined ? {} : { pulse: { activeMs, dormantMs } }),
    ...withoutUndefined({
      targetPodIp: podIp,
      notInjectedBefore: flags.optional('not-injected-before', moment),
      deadline: flags.optional('deadline', moment),
    }),
    log: {
      disruptionName: text('disruption-name'),
      disruptionNamespace: text('disruption-namespace'),
      disruptionUid: text('disruption-uid'),
      targetName: text('target-name'),
      targetNodeName: text('target-node-name'),
    },
  }
}

/** Drops keys with undefined values. */
function withoutUndefined<Value extends object>(
  value: Value,
): { [Key in keyof Value]?: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [Key in keyof Value]?: Exclude<Value[Key], undefined>
  }
}

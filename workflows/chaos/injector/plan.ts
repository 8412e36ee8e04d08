// Plans every kind of injection except network disruptions: pure functions of the flags and of facts about the target.
// Source: spec/chaos.md 3.7 and 3.8.

import { formatGoDuration } from '../go-duration.ts'
import type { Command, Plan, ProcessRef, Unsupported } from './command.ts'
import type { CpuCount, DnsRecord, KindSpec } from './invocation.ts'
import { DNS_CHAIN, RULE_COMMENT } from './marks.ts'
import { CHAIN_GONE, RULE_GONE, classidPlan, containerKeys, type ContainerMatch } from './network/network-spec.ts'

type SpecOf<Kind extends KindSpec['kind']> = Extract<KindSpec, { readonly kind: Kind }>

/** Signals the container's first process; the kubelet restarts the container. */
export function planContainerFailure({ forced }: SpecOf<'container-failure'>, main: ProcessRef): Plan {
  return { apply: [{ do: 'signal', signal: forced ? 'SIGKILL' : 'SIGTERM', process: main }], undo: [] }
}

export interface SysrqFiles {
  /** The mounted file /proc/sys/kernel/sysrq. */
  readonly enable: string
  /** The mounted file /proc/sysrq-trigger. */
  readonly trigger: string
}

/** The time in which the kubelet sees the pod ready and collects its logs. Source: spec/chaos.md 3.8. */
const BEFORE_NODE_FAILURE_MS = 31_000

/** @param before the content of the first file, which the undo restores; undefined: nothing to restore. */
export function planNodeFailure(
  { shutdown }: SpecOf<'node-failure'>,
  files: SysrqFiles,
  before: string | undefined,
): Plan {
  return {
    apply: [{ do: 'write', path: files.enable, text: '1' }],
    afterReady: [
      { do: 'wait', ms: BEFORE_NODE_FAILURE_MS },
      { do: 'write', path: files.trigger, text: shutdown ? 'o' : 'c' },
    ],
    undo: before === undefined ? [] : [{ do: 'write', path: files.enable, text: before, mayBeGone: true }],
  }
}

export interface CpuFacts {
  /** The cgroup.procs files of the container's CPU groups. */
  readonly joins: readonly string[]
  /** The number of CPUs that the container may use. */
  readonly cpus: number
}

export function planCpuPressure({ count }: SpecOf<'cpu-pressure'>, facts: CpuFacts): Plan {
  const args = ['cpu-pressure-stress', '--percentage', String(cpuPercentage(count, facts.cpus))]
  return {
    apply: [{ do: 'start', as: 'cpu-pressure-stress', args, joins: facts.joins }],
    undo: [{ do: 'end', as: 'cpu-pressure-stress' }],
  }
}

/** The load of each CPU in percent. */
export function cpuPercentage(count: CpuCount, cpus: number): number {
  return 'percent' in count ? count.percent : Math.min(100, Math.floor((count.cpus / cpus) * 100))
}

export interface MemoryFacts {
  readonly joins: readonly string[]
  /** Undefined: no limit. */
  readonly limitBytes: number | undefined
  /** The kernel's file with the current usage. */
  readonly usageFile: string
}

export function planMemoryPressure(spec: SpecOf<'memory-pressure'>, facts: MemoryFacts): Plan | Unsupported {
  if (facts.limitBytes === undefined)
    return {
      unsupported: [
        `the target has no memory limit, so ${spec.targetPercent}% of the limit is undefined; set resources.limits.memory`,
      ],
    }
  const args = [
    ...['memory-pressure-stress', '--target-percent', String(spec.targetPercent)],
    ...['--ramp-duration', formatGoDuration(BigInt(Math.round(spec.rampMs)) * 1_000_000n)],
    ...['--limit-bytes', String(facts.limitBytes), '--usage-file', facts.usageFile],
  ]
  return {
    apply: [{ do: 'start', as: 'memory-pressure-stress', args, joins: facts.joins }],
    undo: [{ do: 'end', as: 'memory-pressure-stress' }],
  }
}

export interface DiskFacts {
  /** The whole disk, as `major:minor`. */
  readonly device: string
  readonly files:
    | { readonly version: 1; readonly read: string; readonly write: string }
    | { readonly version: 2; readonly max: string }
  /** The existing limits in bytes per second; undefined: no limit. */
  readonly before: { readonly read: number | undefined; readonly write: number | undefined }
}

export function planDiskPressure(spec: SpecOf<'disk-pressure'>, facts: DiskFacts): Plan {
  const limits = { read: spec.readBytesPerSec, write: spec.writeBytesPerSec }
  const directions = (['read', 'write'] as const).filter((way) => limits[way] !== undefined)
  return {
    apply: directions.map((way) => throttle(facts, way, limits[way])),
    undo: directions.map((way) => ({ ...throttle(facts, way, facts.before[way]), mayBeGone: true })),
  }
}

function throttle({ device, files }: DiskFacts, way: 'read' | 'write', limit: number | undefined) {
  return files.version === 1
    ? { do: 'write' as const, path: files[way], text: `${device} ${limit ?? 0}` }
    : { do: 'write' as const, path: files.max, text: `${device} ${way === 'read' ? 'rbps' : 'wbps'}=${limit ?? 'max'}` }
}

export interface DnsFacts {
  /** The address of the injector's pod, at which the target reaches the responder. */
  readonly responderIp: string
  /** The name servers for queries without a record, as `address:port`. */
  readonly upstreams: readonly string[]
  /** Empty: the containers of the pod cannot be distinguished. */
  readonly containers: readonly ContainerMatch[]
}

/** Ports of the responder. Source: spec/chaos.md 3.7. */
const UDP_PORT = 5353
const TCP_PORT_BESIDE_UDP = 5354

export function planDns(spec: SpecOf<'dns-disruption'>, facts: DnsFacts): Plan {
  const ports = {
    ...(spec.protocol === 'tcp' ? {} : { udp: UDP_PORT }),
    ...(spec.protocol === 'udp' ? {} : { tcp: spec.protocol === 'both' ? TCP_PORT_BESIDE_UDP : UDP_PORT }),
  }
  const jumps = Object.keys(ports).flatMap((protocol) => dnsJumps(spec.port, protocol, facts.containers))
  const classids = classidPlan(facts.containers)
  return {
    apply: [
      { do: 'start', as: 'dns-responder', args: responderArgs(spec, facts, ports), joins: [] },
      ...classids.apply,
      redirect(spec.port, ports, facts, jumps),
    ],
    undo: [
      ...jumps.map(({ chain, rule }) => nat(`-D ${chain} ${rule}`)),
      ...[nat(`-F ${DNS_CHAIN}`), nat(`-X ${DNS_CHAIN}`)],
      ...classids.undo,
      { do: 'end', as: 'dns-responder' },
    ],
  }
}

type Ports = Readonly<Partial<Record<'udp' | 'tcp', number>>>

function responderArgs(
  { records }: SpecOf<'dns-disruption'>,
  { upstreams }: DnsFacts,
  ports: Ports,
): readonly string[] {
  return [
    ...['dns-responder', '--records', records.map(recordText).join(';')],
    ...Object.entries(ports).flatMap(([protocol, port]) => [`--${protocol}-port`, String(port)]),
    ...upstreams.flatMap((upstream) => ['--upstream', upstream]),
  ]
}

function recordText({ hostname, type, value, ttl }: DnsRecord): string {
  return [hostname, type, value, ttl].join(':')
}

function dnsJumps(port: number, protocol: string, containers: readonly ContainerMatch[]) {
  const keys = containers.length === 0 ? [''] : containerKeys(containers).map((key) => `${key} `)
  const chains = containers.length === 0 ? ['OUTPUT', 'PREROUTING'] : ['OUTPUT']
  return keys.flatMap((key) => {
    const rule = `-p ${protocol} --dport ${port} ${key}-m comment --comment ${RULE_COMMENT} -j ${DNS_CHAIN}`
    return chains.map((chain) => ({ chain, rule }))
  })
}

/** One transaction. Queries of the responder itself are not redirected. */
function redirect(
  port: number,
  ports: Ports,
  { responderIp }: DnsFacts,
  jumps: readonly { readonly chain: string; readonly rule: string }[],
): Command {
  const rules = [
    `:${DNS_CHAIN} - [0:0]`,
    `-A ${DNS_CHAIN} -s ${responderIp} -j RETURN`,
    ...Object.entries(ports).map(
      ([protocol, to]) =>
        `-A ${DNS_CHAIN} -p ${protocol} --dport ${port} -j DNAT --to-destination ${responderIp}:${to}`,
    ),
    ...jumps.map(({ chain, rule }) => `-I ${chain} 1 ${rule}`),
  ]
  const input = ['*nat', ...rules, 'COMMIT', ''].join('\n')
  return { do: 'run', in: 'target', argv: ['iptables-restore', '--noflush', '-w'], input }
}

function nat(line: string): Command {
  const gone = line.startsWith('-D') ? RULE_GONE : CHAIN_GONE
  return { do: 'run', in: 'target', argv: ['iptables', '-w', '-t', 'nat', ...line.split(' ')], gone }
}

/** @param address the application's listener, as `address:port`. */
export function planGrpc({ alterations }: SpecOf<'grpc-disruption'>, address: string): Plan {
  return { apply: [{ do: 'listener', address, alterations }], undo: [{ do: 'listener', address }] }
}

export interface ReplacementFacts {
  readonly node: string
  /** Whether the node was cordoned before; the undo keeps it cordoned then. */
  readonly isCordoned: boolean
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string }
  /** The names of its PersistentVolumeClaims. */
  readonly claims: readonly string[]
}

/** Cordons the node, so that the replacement starts on another node, and deletes the pod. */
export function planPodReplacement(spec: SpecOf<'pod-replacement'>, facts: ReplacementFacts): Plan {
  const { namespace, name, uid } = facts.pod
  const grace = spec.forceDelete ? 0 : spec.gracePeriodSeconds
  const cordon = (unschedulable: true | null) =>
    ({
      do: 'cluster',
      method: 'PATCH',
      path: `/api/v1/nodes/${facts.node}`,
      body: { spec: { unschedulable } },
    }) as const
  const remove = (plural: string, one: string, options: object): Command => ({
    do: 'cluster',
    method: 'DELETE',
    path: `/api/v1/namespaces/${namespace}/${plural}/${one}`,
    mayBeGone: true,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', ...options },
  })
  return {
    apply: [
      ...(facts.isCordoned ? [] : [cordon(true)]),
      ...(spec.deleteStorage ? facts.claims.map((claim) => remove('persistentvolumeclaims', claim, {})) : []),
      remove('pods', name, { preconditions: { uid }, ...(grace === undefined ? {} : { gracePeriodSeconds: grace }) }),
    ],
    undo: facts.isCordoned ? [] : [{ ...cordon(null), mayBeGone: true }],
  }
}

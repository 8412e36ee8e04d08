// The facts that a network disruption needs about its target, and the packet matches that derive from them.

import type { Plan, GoneAnswer } from '../command.ts'
import type { NetworkSpec, ServiceRule } from '../invocation.ts'
import type { ConnState, Flow, HostRule } from '../../host-rule.ts'
import { CONTAINER_MARK } from '../marks.ts'

export interface NetworkInterface {
  readonly name: string
  /** The length of the transmit queue. */
  readonly qlen: number
  /** The root queueing discipline that a user has set, such as `htb 1:`; undefined for the kernel's default. */
  readonly rootQdisc?: string
}

/** The match for packets of the target's container, as opposed to other containers of the pod. */
export type ContainerMatch =
  | {
      readonly version: 2
      /** Relative to the root of control groups, without slash at its start. */ readonly path: string
    }
  | { readonly version: 1; /** Path of net_cls.classid. */ readonly classidFile: string }

/** An address of a Service: its cluster IP and ports, or one of its pods. */
export interface ServiceAddress {
  readonly ip: string
  /** 0: all ports. */
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
}

export interface NetworkFacts {
  /** All interfaces of the namespace, in the kernel's order. */
  readonly interfaces: readonly NetworkInterface[]
  readonly gateway?: { readonly ip: string; readonly link: string }
  readonly nodeIp?: string
  /** The disrupted containers. Empty: the kernel cannot distinguish them, so the disruption affects the whole pod. */
  readonly containers: readonly ContainerMatch[]
  /** The addresses of each host name; literal addresses have no entry. */
  readonly resolved: Readonly<Record<string, readonly string[]>>
  /** The addresses of each Service, by `namespace/name`. */
  readonly services: Readonly<Record<string, readonly ServiceAddress[]>>
  /** Whether the kernel has the filter `fw`, which reads marks. The reference's substitute matches every packet. */
  readonly hasFwFilter: boolean
}

/** Packets that match all present keys. */
export interface PacketMatch {
  readonly protocol: 'tcp' | 'udp'
  readonly flow: Flow
  /** An address or CIDR; absent: all. */
  readonly ip?: string
  readonly port?: number
  readonly connState?: ConnState
}

/** The maximum number of filters of one disruption. Source: spec/chaos.md 3.6. */
export const MAX_FILTERS = 2048

const INTERFACE = /^(?:eno|ens|enp|enx|eth)/

/** The disrupted interfaces; in a pod also the loopback interface. */
export function disruptedInterfaces(
  interfaces: readonly NetworkInterface[],
  level: 'pod' | 'node',
): readonly NetworkInterface[] {
  return interfaces.filter(({ name }) => INTERFACE.test(name) || (level === 'pod' && name === 'lo'))
}

/** One reason to refuse for each interface with a root queueing discipline. */
export function shapedProblems(interfaces: readonly NetworkInterface[]): readonly string[] {
  return interfaces.flatMap(({ name, rootQdisc }) =>
    rootQdisc === undefined ? [] : [`the interface ${name} already has the queueing discipline ${rootQdisc}`],
  )
}

export function isAddress(host: string): boolean {
  return /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?$/.test(host) || host.includes(':')
}

/** The packets of a host: one match for each address and protocol. */
export function hostMatches(rule: HostRule, { resolved }: NetworkFacts, uid: string): readonly PacketMatch[] {
  const { host, port, protocol, flow, connState } = rule
  const ips = host === '' || host === '0.0.0.0/0' ? [undefined] : chosenAddresses(rule, resolved[host] ?? [host], uid)
  const protocols = protocol === '' ? (['tcp', 'udp'] as const) : [protocol]
  return ips.flatMap((ip) =>
    protocols.map((one) => ({
      protocol: one,
      flow,
      ...(ip === undefined ? {} : { ip }),
      ...(port === 0 ? {} : { port }),
      ...(connState === '' ? {} : { connState }),
    })),
  )
}

/** The packets to a Service. */
export function serviceMatches(rule: ServiceRule, { services }: NetworkFacts, uid: string): readonly PacketMatch[] {
  const name = `${rule.namespace}/${rule.name}`
  const found = services[name] ?? []
  const ips = share([...new Set(found.map(({ ip }) => ip))], rule.percentage, `${name}-${uid}`)
  return found
    .filter(({ ip }) => ips.includes(ip))
    .map(({ ip, port, protocol }) => ({ protocol, flow: 'egress', ip, ...(port === 0 ? {} : { port }) }))
}

/** All disrupted packets: those of the named hosts and Services, or everything. */
export function disruptedMatches(spec: NetworkSpec, facts: NetworkFacts, uid: string): readonly PacketMatch[] {
  if (spec.hosts.length === 0 && spec.services.length === 0)
    return (['tcp', 'udp'] as const).map((protocol) => ({ protocol, flow: 'egress' }))
  return [
    ...spec.hosts.flatMap((rule) => hostMatches(rule, facts, uid)),
    ...spec.services.flatMap((rule) => serviceMatches(rule, facts, uid)),
  ]
}

function chosenAddresses({ host, percentage }: HostRule, ips: readonly string[], uid: string): readonly string[] {
  return isAddress(host) ? ips : share(ips, percentage, `${host}-${uid}`)
}

/**
 * A share of the addresses, at least one: those with the lowest hashes, so the same seed chooses the same addresses.
 */
export function share(ips: readonly string[], percentage: number, seed: string): readonly string[] {
  if (percentage >= 100) return ips
  const count = Math.ceil((ips.length * percentage) / 100)
  const chosen = new Set(
    [...ips].sort((a, b) => hash(`${seed}-${a}`) - hash(`${seed}-${b}`) || (a < b ? -1 : 1)).slice(0, count),
  )
  return ips.filter((ip) => chosen.has(ip))
}

/** FNV-1a with 32 bits and murmur3's finalizer, because neighbouring addresses differ only in their last character. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const letter of text) value = Math.imul(value ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** The iptables matches of the containers, without duplicates: containers of cgroup version 1 share a mark. */
export function containerKeys(containers: readonly ContainerMatch[]): readonly string[] {
  return [
    ...new Set(
      containers.map((one) =>
        one.version === 2 ? `-m cgroup --path ${one.path}` : `-m cgroup --cgroup ${CONTAINER_MARK}`,
      ),
    ),
  ]
}

/** Sets and removes the mark of containers with cgroup version 1. */
export function classidPlan(containers: readonly ContainerMatch[]): Plan {
  const files = containers.flatMap((one) => (one.version === 1 ? [one.classidFile] : []))
  return {
    apply: files.map((path) => ({ do: 'write', path, text: CONTAINER_MARK })),
    undo: files.map((path) => ({ do: 'write', path, text: '0', mayBeGone: true })),
  }
}

/** iptables' messages, of both implementations, if a rule or its chain does not exist. */
export const RULE_GONE: readonly GoneAnswer[] = [
  { code: 1, says: 'No chain/target/match by that name' },
  { code: 1, says: 'does a matching rule exist' },
  { code: 2, says: "Couldn't load target" },
  { code: 2, says: 'does not exist' },
]

export const CHAIN_GONE: readonly GoneAnswer[] = [
  { code: 1, says: 'No chain/target/match by that name' },
  { code: 1, says: 'is incompatible, use' },
]

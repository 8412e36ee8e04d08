// What a network disruption is told, and what it has to know of the target.

import type { Plan } from '../command.ts'
import type { NetworkSpec, ServiceRule } from '../invocation.ts'
import type { ConnState, Flow, HostRule } from '../../host-rule.ts'
import { CONTAINER_MARK } from '../marks.ts'

export interface NetworkInterface {
  readonly name: string
  /** Length of the transmit queue. */
  readonly qlen: number
  /** Its root queueing discipline when somebody has set one, such as `htb 1:`; undefined for what the kernel gives. */
  readonly rootQdisc?: string
}

/** How packets of the target's container are told from those of its neighbours in the pod. */
export type ContainerMatch =
  | {
      readonly version: 2
      /** Relative to the root of control groups, without slash at its start. */ readonly path: string
    }
  | { readonly version: 1; /** Path of net_cls.classid. */ readonly classidFile: string }

/** Where a service is found: the address of the cluster with its ports, and its pods. */
export interface ServiceAddress {
  readonly ip: string
  /** 0: all. */
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
}

export interface NetworkFacts {
  /** All of the namespace, in the kernel's order. */
  readonly interfaces: readonly NetworkInterface[]
  readonly gateway?: { readonly ip: string; readonly link: string }
  readonly nodeIp?: string
  /** Of the containers that are disrupted. None: they cannot be told apart here, the disruption is of the whole pod. */
  readonly containers: readonly ContainerMatch[]
  /** Addresses of each name that is said in a host; literals need none. */
  readonly resolved: Readonly<Record<string, readonly string[]>>
  /** Addresses of each service, by `namespace/name`. */
  readonly services: Readonly<Record<string, readonly ServiceAddress[]>>
  /** Whether the kernel has the filter `fw`, which reads marks. The reference's substitute matches every packet. */
  readonly hasFwFilter: boolean
}

/** Packets, by what all of the keys say. */
export interface PacketMatch {
  readonly protocol: 'tcp' | 'udp'
  readonly flow: Flow
  /** Address or CIDR; absent: all. */
  readonly ip?: string
  readonly port?: number
  readonly connState?: ConnState
}

/** Source: spec/chaos.md 3.6, as upper limit of the filters of a disruption. */
export const MAX_FILTERS = 2048

const INTERFACE = /^(?:eno|ens|enp|enx|eth)/

/** The interfaces that are disrupted: of a pod also the one to itself. */
export function disrupted(interfaces: readonly NetworkInterface[], level: 'pod' | 'node'): readonly NetworkInterface[] {
  return interfaces.filter(({ name }) => INTERFACE.test(name) || (level === 'pod' && name === 'lo'))
}

/** A reason to refuse for each interface whose root somebody has set. */
export function shapedAlready(interfaces: readonly NetworkInterface[]): readonly string[] {
  return interfaces.flatMap(({ name, rootQdisc }) =>
    rootQdisc === undefined ? [] : [`the bandwidth of ${name} is shaped already, by ${rootQdisc}`],
  )
}

export function isAddress(host: string): boolean {
  return /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?$/.test(host) || host.includes(':')
}

/** The packets that a host means: one match for each address and protocol. */
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

/** The packets to a service. */
export function serviceMatches(rule: ServiceRule, { services }: NetworkFacts, uid: string): readonly PacketMatch[] {
  const name = `${rule.namespace}/${rule.name}`
  const found = services[name] ?? []
  const ips = share([...new Set(found.map(({ ip }) => ip))], rule.percentage, `${name}-${uid}`)
  return found
    .filter(({ ip }) => ips.includes(ip))
    .map(({ ip, port, protocol }) => ({ protocol, flow: 'egress', ip, ...(port === 0 ? {} : { port }) }))
}

/** All that is disrupted: what is named, or everything. */
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

/** A share of addresses, the same ones for the same seed: those with the lowest hash. At least one. */
export function share(ips: readonly string[], percentage: number, seed: string): readonly string[] {
  if (percentage >= 100) return ips
  const kept = Math.ceil((ips.length * percentage) / 100)
  const chosen = new Set(
    [...ips].sort((a, b) => hash(`${seed}-${a}`) - hash(`${seed}-${b}`) || (a < b ? -1 : 1)).slice(0, kept),
  )
  return ips.filter((ip) => chosen.has(ip))
}

/** FNV-1a of 32 bits, with the finish of murmur3, as neighbours differ in their last letter only. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const letter of text) value = Math.imul(value ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** As iptables matches them, each once: containers of version 1 have the same mark. */
export function containerKeys(containers: readonly ContainerMatch[]): readonly string[] {
  return [
    ...new Set(
      containers.map((one) =>
        one.version === 2 ? `-m cgroup --path ${one.path}` : `-m cgroup --cgroup ${CONTAINER_MARK}`,
      ),
    ),
  ]
}

/** What puts containers of version 1 under their mark, and what takes it off them. */
export function classidPlan(containers: readonly ContainerMatch[]): Plan {
  const files = containers.flatMap((one) => (one.version === 1 ? [one.classidFile] : []))
  return {
    apply: files.map((path) => ({ do: 'write', path, text: CONTAINER_MARK })),
    undo: files.map((path) => ({ do: 'write', path, text: '0', mayBeGone: true })),
  }
}

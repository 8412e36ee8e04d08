// Decides which packets are disrupted: an ordered list of filter groups, first safeguards, then allowed hosts, then the
// disrupted hosts.

import type { CommonFlags, NetworkSpec } from '../invocation.ts'
import {
  disruptedInterfaces,
  disruptedMatches,
  hostMatches,
  isAddress,
  type NetworkFacts,
  type PacketMatch,
  serviceMatches,
} from './network-spec.ts'

/** Filters of one flag entry; their packets get the same treatment. */
export interface FilterGroup {
  /** A label such as `allowed host a.example`. */
  readonly of: string
  readonly passes: boolean
  readonly filters: readonly GroupFilter[]
}

export interface GroupFilter {
  readonly match: PacketMatch | 'arp'
  readonly interfaces: readonly string[]
}

export interface NetworkRequest {
  readonly spec: NetworkSpec
  readonly common: Pick<CommonFlags, 'level' | 'onInit' | 'log'>
  readonly facts: NetworkFacts
}

/** The metadata address of clouds. */
const METADATA = '169.254.169.254'

/** All groups of a disruption. Source: spec/chaos.md 3.6, "Safeguards" and "Allowed hosts". */
export function filterGroups(ask: NetworkRequest): readonly FilterGroup[] {
  const { spec, common, facts } = ask
  const all = disruptedInterfaces(facts.interfaces, common.level).map(({ name }) => name)
  const uid = common.log.disruptionUid
  const onAll = (matches: readonly PacketMatch[]) => matches.map((match) => ({ match, interfaces: all }))
  const named = spec.hosts.length > 0 || spec.services.length > 0
  return [
    ...safeguards(ask, all),
    ...spec.allowedHosts.map((rule) => ({
      of: `allowed host ${rule.host}`,
      passes: true,
      filters: onAll(hostMatches(rule, facts, uid)),
    })),
    ...(named ? [] : [{ of: 'everything', passes: false, filters: onAll(disruptedMatches(spec, facts, uid)) }]),
    ...spec.hosts.map((rule) => ({
      of: `host ${rule.host}`,
      passes: false,
      filters: onAll(hostMatches(rule, facts, uid)),
    })),
    ...spec.services.map((rule) => ({
      of: `service ${rule.namespace}/${rule.name}`,
      passes: false,
      filters: onAll(serviceMatches(rule, facts, uid)),
    })),
  ]
}

function safeguards({ common, facts }: NetworkRequest, all: readonly string[]): readonly FilterGroup[] {
  const group = (of: string, match: PacketMatch | 'arp', interfaces = all): FilterGroup => ({
    of: `safeguard: ${of}`,
    passes: true,
    filters: [{ match, interfaces }],
  })
  if (common.level === 'node')
    return [
      group('ssh', { protocol: 'tcp', flow: 'ingress', port: 22 }),
      group('arp', 'arp'),
      group('cloud metadata', { protocol: 'tcp', flow: 'egress', ip: METADATA }),
    ]
  const { gateway, nodeIp } = facts
  return [
    ...(gateway !== undefined && all.includes(gateway.link)
      ? [group('gateway', { protocol: 'tcp', flow: 'egress', ip: gateway.ip }, [gateway.link])]
      : []),
    ...(nodeIp === undefined ? [] : [group('node', { protocol: 'tcp', flow: 'egress', ip: nodeIp })]),
  ]
}

/** The requests that no backend supports, one sentence each. */
export function networkRefusals({ spec, common, facts }: NetworkRequest): readonly string[] {
  const hosts = [...spec.hosts, ...spec.allowedHosts].map(({ host }) => host)
  const sixes = [...hosts, ...hosts.flatMap((host) => facts.resolved[host] ?? [])].filter((host) => host.includes(':'))
  const unresolved = hosts.filter(
    (host) => host !== '' && !isAddress(host) && (facts.resolved[host] ?? []).length === 0,
  )
  return [
    ...(spec.methods.length > 0 || spec.paths.length > 0
      ? ['requests cannot be selected by HTTP method or path, because that needs an eBPF classifier']
      : []),
    ...sixes.map((host) => `host ${host} is an IPv6 address; only IPv4 is disrupted`),
    ...unresolved.map((host) => `host ${host} has no IPv4 address`),
    ...(disruptedInterfaces(facts.interfaces, common.level).length === 0
      ? [
          `found the interfaces ${facts.interfaces.map(({ name }) => name).join(', ') || '(none)'}; expected at least one of eth*, ens*, eno*, enp* or enx*`,
        ]
      : []),
  ]
}

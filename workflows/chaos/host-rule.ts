// Hosts as texts, in flags of injectors and files of operators. Source: spec/chaos.md 3.2, 8.1.

import { among, type Grammar, integerIn } from './grammar.ts'

export type Flow = 'egress' | 'ingress'
export type ConnState = 'new' | 'est'
export type DnsResolver = 'pod' | 'node' | 'pod-fallback-node' | 'node-fallback-pod'

export interface HostRule {
  /** A name, an address or a CIDR; empty: all hosts. */
  readonly host: string
  /** 0: all ports. */
  readonly port: number
  /** Empty: both. */
  readonly protocol: 'tcp' | 'udp' | ''
  readonly flow: Flow
  readonly connState: ConnState | ''
  readonly dnsResolver: DnsResolver
  /** The percentage of its addresses, 1 to 100. */
  readonly percentage: number
}

export const HOST_NAME = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/i
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/
const RESOLVERS: readonly DnsResolver[] = ['pod', 'node', 'pod-fallback-node', 'node-fallback-pod']

/**
 * Parses `host;port;protocol;flow;connState;dnsResolver;percentage`; each part may be empty, and parts at the end may
 * be missing.
 */
export const hostRule: Grammar<HostRule> = {
  parse: (text) => {
    const parts = text.split(';').map((part) => part.trim())
    if (parts.length > 7) return undefined
    const [host = '', port = '', protocol = '', flow = '', connState = '', resolver = '', percentage = ''] = parts
    const read = {
      host: isHost(host) ? host : undefined,
      port: optional(port, 0, integerIn(0, 65535).parse),
      protocol: optional(protocol.toLowerCase(), '' as const, among(['tcp', 'udp'] as const)),
      flow: optional(flow.toLowerCase(), 'egress' as const, among(['egress', 'ingress'] as const)),
      connState: optional(connState.toLowerCase(), '' as const, among(['new', 'est'] as const)),
      dnsResolver: optional(resolver, 'pod-fallback-node' as const, among(RESOLVERS)),
      percentage: optional(percentage, 100, integerIn(1, 100).parse),
    }
    return isComplete(read) ? read : undefined
  },
  expected:
    'host;port;protocol;flow;connState;dnsResolver;percentage such as 10.0.0.0/8;80;tcp;egress;new;pod;100; trailing parts are optional',
}

function isHost(host: string): boolean {
  if (host === '' || host.includes(':')) return host === '' || /^[0-9a-f:.]+(?:\/\d{1,3})?$/i.test(host)
  const [, address, bits] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(host) ?? []
  if (address === undefined) return HOST_NAME.test(host)
  return IPV4.test(address) && Number(bits ?? 32) <= 32
}

function optional<Value>(text: string, otherwise: Value, reads: (text: string) => Value | undefined) {
  return text === '' ? otherwise : reads(text)
}

type Complete<Read> = { [Key in keyof Read]: Exclude<Read[Key], undefined> }

function isComplete<Read extends object>(read: Read): read is Read & Complete<Read> {
  return !Object.values(read).includes(undefined)
}

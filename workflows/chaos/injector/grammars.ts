// The little languages inside of flags. Source: spec/chaos.md 3.2, with examples in 8.1.
//
// Values may hold what separates the parts, as IPv6 addresses hold colons: such texts are read from both of their ends.

import { type Grammar, whole } from './flags.ts'
import type {
  CpuCount,
  DnsRecord,
  DnsRecordType,
  DnsResolver,
  EndpointAlteration,
  HostRule,
  ServiceRule,
  TargetContainer,
} from './invocation.ts'

const NAME = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/i
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/
const RESOLVERS: readonly DnsResolver[] = ['pod', 'node', 'pod-fallback-node', 'node-fallback-pod']

/** `host;port;protocol;flow;connState;dnsResolver;percentage`, of which parts at the end may be missing and each may be empty. */
export const hostRule: Grammar<HostRule> = {
  reads: (text) => {
    const parts = text.split(';').map((part) => part.trim())
    if (parts.length > 7) return undefined
    const [host = '', port = '', protocol = '', flow = '', connState = '', resolver = '', percentage = ''] = parts
    const read = {
      host: isHost(host) ? host : undefined,
      port: optional(port, 0, whole(0, 65535).reads),
      protocol: optional(protocol.toLowerCase(), '' as const, among(['tcp', 'udp'] as const)),
      flow: optional(flow.toLowerCase(), 'egress' as const, among(['egress', 'ingress'] as const)),
      connState: optional(connState.toLowerCase(), '' as const, among(['new', 'est'] as const)),
      dnsResolver: optional(resolver, 'pod-fallback-node' as const, among(RESOLVERS)),
      percentage: optional(percentage, 100, whole(1, 100).reads),
    }
    return isComplete(read) ? read : undefined
  },
  expected:
    'host;port;protocol;flow;connState;dnsResolver;percentage such as 10.0.0.0/8;80;tcp;egress;new;pod;100, of which parts at the end may be missing',
}

function isHost(host: string): boolean {
  if (host === '' || host.includes(':')) return host === '' || /^[0-9a-f:.]+(?:\/\d{1,3})?$/i.test(host)
  const [, address, bits] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(host) ?? []
  if (address === undefined) return NAME.test(host)
  return IPV4.test(address) && Number(bits ?? 32) <= 32
}

/** `name;namespace;port-portname;...;percentage`: the first two and the last have to be there. */
export const serviceRule: Grammar<ServiceRule> = {
  reads: (text) => {
    const [name = '', namespace = '', ...rest] = text.split(';')
    const percentage = whole(1, 100).reads(rest.at(-1) ?? '')
    const ports = rest.slice(0, -1).map(servicePort)
    if (!NAME.test(name) || !NAME.test(namespace) || percentage === undefined) return undefined
    return ports.includes(undefined)
      ? undefined
      : { name, namespace, ports: ports.filter((port) => port !== undefined), percentage }
  },
  expected: 'name;namespace;port-portname;...;percentage such as web;shop;8080-http;50',
}

function servicePort(text: string): ServiceRule['ports'][number] | undefined {
  const [, digits, name] = /^(\d{1,5})-([a-z0-9-]*)$/.exec(text) ?? []
  const port = whole(0, 65535).reads(digits ?? '')
  return port === undefined || name === undefined || (port === 0 && name === '') ? undefined : { port, name }
}

/** `name;id` of containers, separated by commas. */
export const targetContainers: Grammar<readonly TargetContainer[]> = {
  reads: (text) => {
    const found = text.split(',').map((one) => /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?);([a-z-]+:\/\/\S+)$/.exec(one))
    return found.every((match) => match !== null) ? found.map(([, name = '', id = '']) => ({ name, id })) : undefined
  },
  expected: 'name;id of containers, separated by commas, such as app;containerd://0a1b2c',
}

const TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'SRV'] as const satisfies readonly DnsRecordType[]
/** Semicolons also stand in values of TXT: one separates when a record ends before and one begins behind it. */
const BETWEEN_RECORDS = new RegExp(`(?<=:\\d+);(?=[^:;]+:(?:${TYPES.join('|')}):)`)

/** `host:TYPE:value:ttl`, separated by semicolons. */
export const dnsRecords: Grammar<readonly DnsRecord[]> = {
  reads: (text) => {
    const found = text.split(BETWEEN_RECORDS).map(dnsRecord)
    return found.includes(undefined) ? undefined : found.filter((record) => record !== undefined)
  },
  expected: 'host:TYPE:value:ttl of records, separated by semicolons, such as a.example:A:192.0.2.1,192.0.2.2:5',
}

function dnsRecord(text: string): DnsRecord | undefined {
  const [, hostname = '', type = '', value = '', ttl = ''] = /^([^:;]+):([A-Z]+):(.+):(\d{1,9})$/s.exec(text) ?? []
  const known = among(TYPES)(type)
  if (known === undefined || !NAME.test(hostname.replaceAll('_', 'a').replace(/\.$/, ''))) return undefined
  return { hostname, type: known, value, ttl: Number(ttl) }
}

// Source: google.rpc.Code, as the API lists them.
const CODES = [
  ...(['OK', 'CANCELED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'] as const),
  ...(['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'] as const),
  ...(['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'] as const),
]

/** `endpoint;error|override;value;percent`. */
export const endpointAlteration: Grammar<EndpointAlteration> = {
  reads: (text) => {
    const [endpoint = '', sort, value = '', share = '', ...more] = text.split(';')
    const percentage = whole(0, 100).reads(share)
    if (more.length > 0 || percentage === undefined || !/^\/[\w.]+\/\w+$/.test(endpoint)) return undefined
    if (sort === 'error' && among(CODES)(value) !== undefined)
      return { endpoint, alteration: { error: value }, percent: percentage }
    return sort === 'override' && value === '{}'
      ? { endpoint, alteration: { override: value }, percent: percentage }
      : undefined
  },
  expected:
    'endpoint;error|override;value;percent such as /shop.Cart/Add;error;UNAVAILABLE;25 or /shop.Cart/Add;override;{};25',
}

/** `2` or `50%`. */
export const cpuCount: Grammar<CpuCount> = {
  reads: (text) => {
    const number = text.endsWith('%') ? whole(1, 100).reads(text.slice(0, -1)) : whole(1, 4096).reads(text)
    return number === undefined ? undefined : text.endsWith('%') ? { percent: number } : { cpus: number }
  },
  expected: 'a number of CPUs such as 2, or a percentage from 1% to 100%',
}

function optional<Value>(text: string, otherwise: Value, reads: (text: string) => Value | undefined) {
  return text === '' ? otherwise : reads(text)
}

function among<Value extends string>(values: readonly Value[]): (text: string) => Value | undefined {
  return (text) => values.find((value) => value === text)
}

type Complete<Read> = { [Key in keyof Read]: Exclude<Read[Key], undefined> }

function isComplete<Read extends object>(read: Read): read is Read & Complete<Read> {
  return !Object.values(read).includes(undefined)
}

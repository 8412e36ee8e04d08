// The grammars of structured flag values. Source: spec/chaos.md 3.2, with examples in 8.1.
//
// Values may contain the separator, as IPv6 addresses contain colons, so the parsers read such texts from both ends.

import { among, type Grammar, integerIn } from '../grammar.ts'
import { HOST_NAME as NAME } from '../host-rule.ts'
import type {
  CpuCount,
  DnsRecord,
  DnsRecordType,
  EndpointAlteration,
  ServiceRule,
  TargetContainer,
} from './invocation.ts'

/** `name;namespace;port-portname;...;percentage`: the first two parts and the last part are required. */
export const serviceRule: Grammar<ServiceRule> = {
  parse: (text) => {
    const [name = '', namespace = '', ...rest] = text.split(';')
    const percentage = integerIn(1, 100).parse(rest.at(-1) ?? '')
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
  const port = integerIn(0, 65535).parse(digits ?? '')
  return port === undefined || name === undefined || (port === 0 && name === '') ? undefined : { port, name }
}

/** `name;id` of containers, separated by commas. */
export const targetContainers: Grammar<readonly TargetContainer[]> = {
  parse: (text) => {
    const found = text.split(',').map((one) => /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?);([a-z-]+:\/\/\S+)$/.exec(one))
    return found.every((match) => match !== null) ? found.map(([, name = '', id = '']) => ({ name, id })) : undefined
  },
  expected: 'name;id of containers, separated by commas, such as app;containerd://0a1b2c',
}

const TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'SRV'] as const satisfies readonly DnsRecordType[]
/**
 * TXT values may contain semicolons: a semicolon separates records if a record ends before it and one starts after it.
 */
const BETWEEN_RECORDS = new RegExp(`(?<=:\\d+);(?=[^:;]+:(?:${TYPES.join('|')}):)`)

/** `host:TYPE:value:ttl`, separated by semicolons. */
export const dnsRecords: Grammar<readonly DnsRecord[]> = {
  parse: (text) => {
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

// Source: google.rpc.Code, in the order of the API.
const CODES = [
  ...(['OK', 'CANCELED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'] as const),
  ...(['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE'] as const),
  ...(['UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'] as const),
]

/** `endpoint;error|override;value;percent`. */
export const endpointAlteration: Grammar<EndpointAlteration> = {
  parse: (text) => {
    const [endpoint = '', sort, value = '', share = '', ...more] = text.split(';')
    const percentage = integerIn(0, 100).parse(share)
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
  parse: (text) => {
    const isPercent = text.endsWith('%')
    const number = isPercent ? integerIn(1, 100).parse(text.slice(0, -1)) : integerIn(1, 4096).parse(text)
    if (number === undefined) return undefined
    return isPercent ? { percent: number } : { cpus: number }
  },
  expected: 'a number of CPUs such as 2, or a percentage from 1% to 100%',
}

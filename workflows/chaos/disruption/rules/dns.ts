// Rules for spec.dns. Source: spec/chaos.md 1.6.

import type { Problem, FieldChange, Mutation } from '../../../kit/index.ts'
import {
  choiceProblems,
  fieldsOf,
  type JsonFields,
  listOf,
  rangeProblems,
  formatValue,
  textOf,
} from '../../json-fields.ts'
import { RECORD_TYPES } from '../schema/dns.ts'

/** Accepted in place of an address. */
export const DNS_KEYWORDS: readonly string[] = ['NXDOMAIN', 'DROP', 'SERVFAIL', 'RANDOM']

const HOSTNAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?)*\.?$/

interface ValueRule {
  readonly accepts: (value: string) => boolean
  readonly expected: string
}

const VALUES: Readonly<Record<(typeof RECORD_TYPES)[number], ValueRule>> = {
  A: { accepts: addresses(isIPv4), expected: `IPv4 addresses separated by commas, or ${DNS_KEYWORDS.join(', ')}` },
  AAAA: { accepts: addresses(isIPv6), expected: `IPv6 addresses separated by commas, or ${DNS_KEYWORDS.join(', ')}` },
  CNAME: { accepts: listing((one) => isHostname(one)), expected: 'a hostname' },
  MX: { accepts: listing(isMail), expected: 'a priority and a hostname, such as 10 mail.example.com' },
  SRV: { accepts: listing(isService), expected: 'priority, weight, port and hostname, such as 10 5 443 a.example.com' },
  TXT: { accepts: () => true, expected: 'text' },
}

export function dnsProblems(dns: JsonFields, at: string): readonly Problem[] {
  const records = listOf(dns['records']).map(fieldsOf)
  const names = records.map(identity)
  return [
    ...(records.length > 0 ? [] : [{ field: `${at}.records`, found: 'none', expected: 'at least one record' }]),
    ...records.flatMap((one, index) => {
      const field = `${at}.records[${index}]`
      const isAgain = names.indexOf(names[index] ?? '') < index
      return [
        ...(isAgain
          ? [{ field, found: `${formatValue(one['hostname'])} again`, expected: 'each hostname and type only once' }]
          : []),
        ...recordProblems(one, field),
      ]
    }),
    ...rangeProblems(dns, at, { port: [0, 65_535] }),
    ...choiceProblems(dns, at, { protocol: ['udp', 'tcp', 'both'] }),
  ]
}

/** The key by which records are compared. */
function identity({ hostname, record }: JsonFields): string {
  return `${textOf(hostname).toLowerCase().replace(/\.$/, '')} ${textOf(fieldsOf(record)['type'])}`
}

function recordProblems({ hostname, record }: JsonFields, at: string): readonly Problem[] {
  const answer = fieldsOf(record)
  const type = RECORD_TYPES.find((one) => one === answer['type'])
  return [
    ...(isHostname(textOf(hostname))
      ? []
      : [{ field: `${at}.hostname`, found: formatValue(hostname), expected: 'a hostname' }]),
    ...(type === undefined
      ? [
          {
            field: `${at}.record.type`,
            found: formatValue(answer['type']),
            expected: `one of ${RECORD_TYPES.join(', ')}`,
          },
        ]
      : valueProblems(textOf(answer['value']), VALUES[type], `${at}.record.value`)),
    ...rangeProblems(answer, `${at}.record`, { ttl: [0, 2 ** 31 - 1] }),
  ]
}

function valueProblems(value: string, { accepts, expected }: ValueRule, field: string): readonly Problem[] {
  if (value.trim() === '') return [{ field, found: formatValue(value), expected }]
  // The injector's argument separates records by ;.
  if (value.includes(';')) return [{ field, found: formatValue(value), expected: `${expected}, without ;` }]
  return accepts(value) ? [] : [{ field, found: formatValue(value), expected }]
}

function addresses(isAddress: (text: string) => boolean): ValueRule['accepts'] {
  const areAddresses = listing(isAddress)
  return (value) => DNS_KEYWORDS.includes(value.trim()) || areAddresses(value)
}

function listing(accepts: (one: string) => boolean): ValueRule['accepts'] {
  return (value) => value.split(',').every((one) => accepts(one.trim()))
}

function isHostname(text: string): boolean {
  return HOSTNAME.test(text)
}

function isMail(value: string): boolean {
  const [priority, host, ...more] = value.split(/\s+/)
  return isUint16(priority) && isHostname(host ?? '') && more.length === 0
}

function isService(value: string): boolean {
  const [priority, weight, port, target, ...more] = value.split(/\s+/)
  return [priority, weight, port].every(isUint16) && isHostname(target ?? '') && more.length === 0
}

function isUint16(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) <= 65_535
}

/** Four numbers up to 255, without leading zeros. The workflow sandbox has no node:net. */
export function isIPv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

/** Source: RFC 4291, 2.2; without zones. */
export function isIPv6(text: string): boolean {
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return false
  const last = (tail ?? head).split(':').at(-1) ?? ''
  const isMixed = last.includes('.')
  if (isMixed && !isIPv4(last)) return false
  const groups = [...groupsOf(head), ...groupsOf(tail ?? '')]
  const hexGroups = isMixed ? groups.slice(0, -1) : groups
  const count = hexGroups.length + (isMixed ? 2 : 0)
  return hexGroups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) && (tail === undefined ? count === 8 : count < 8)
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':')
}

/**
 * Converts `dns: [{ hostname, record }]`, the format of 2021, to `dns: { records: [...] }` before validation and
 * storage. @param template the path of the Disruption's spec, such as `['spec']`.
 */
export function dnsListMutation(template: readonly string[]): Mutation {
  return {
    name: 'dns-list',
    filter: { spec: true },
    whenUnavailable: 'pass',
    mutate: ({ object }) => dnsListChange(object, template),
  }
}

function dnsListChange(object: unknown, template: readonly string[]): readonly FieldChange[] {
  const spec = template.reduce<unknown>((at, name) => fieldsOf(at)[name], object)
  const { dns } = fieldsOf(spec)
  return Array.isArray(dns) ? [{ path: [...template, 'dns'], value: { records: dns as readonly unknown[] } }] : []
}

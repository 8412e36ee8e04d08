// What answers to questions for names have to say. Source: spec/chaos.md 1.6.

import type { Problem } from '../../../kit/index.ts'
import { choiceProblems, fieldsOf, type JsonFields, listOf, rangeProblems, shown, textOf } from '../../json-fields.ts'
import { RECORD_TYPES } from '../schema/dns.ts'
import { isIPv4, isIPv6 } from './addresses.ts'

/** In place of an address. */
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
          ? [{ field, found: `${shown(one['hostname'])} again`, expected: 'each hostname and type once' }]
          : []),
        ...recordProblems(one, field),
      ]
    }),
    ...rangeProblems(dns, at, { port: [0, 65_535] }),
    ...choiceProblems(dns, at, { protocol: ['udp', 'tcp', 'both'] }),
  ]
}

/** A hostname as it is compared. */
function identity({ hostname, record }: JsonFields): string {
  return `${textOf(hostname).toLowerCase().replace(/\.$/, '')} ${textOf(fieldsOf(record)['type'])}`
}

function recordProblems({ hostname, record }: JsonFields, at: string): readonly Problem[] {
  const answer = fieldsOf(record)
  const type = RECORD_TYPES.find((one) => one === answer['type'])
  return [
    ...(isHostname(textOf(hostname))
      ? []
      : [{ field: `${at}.hostname`, found: shown(hostname), expected: 'a hostname' }]),
    ...(type === undefined
      ? [{ field: `${at}.record.type`, found: shown(answer['type']), expected: `one of ${RECORD_TYPES.join(', ')}` }]
      : valueProblems(textOf(answer['value']), VALUES[type], `${at}.record.value`)),
    ...rangeProblems(answer, `${at}.record`, { ttl: [0, 2 ** 31 - 1] }),
  ]
}

function valueProblems(value: string, { accepts, expected }: ValueRule, field: string): readonly Problem[] {
  if (value.trim() === '') return [{ field, found: shown(value), expected }]
  // The injector is given records with ; between them.
  if (value.includes(';')) return [{ field, found: shown(value), expected: `${expected}, without ;` }]
  return accepts(value) ? [] : [{ field, found: shown(value), expected }]
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

// What a disturbed name server says. Source: spec/chaos.md 3.7, "Answer rules".

import type { DnsRecord, DnsRecordType } from '../invocation.ts'

export interface DnsQuestion {
  readonly name: string
  /** Other types are nobody's records. */
  readonly type: DnsRecordType | undefined
}

export type DnsAnswer =
  | { readonly does: 'answer'; readonly records: readonly AnsweredRecord[] }
  | { readonly does: 'refuse'; readonly code: 'NXDOMAIN' | 'SERVFAIL' }
  /** Says nothing, as if the question were lost. */
  | { readonly does: 'drop' }
  /** Asks those whom the target would have asked. */
  | { readonly does: 'forward' }

export interface AnsweredRecord {
  readonly type: DnsRecordType
  readonly value: string
  readonly ttl: number
}

export interface Chance {
  /** How many questions have been asked before this: lists are gone through by it. */
  readonly turn: number
  /** An integer from 0 to less than the bound. */
  readonly below: (bound: number) => number
}

/** The exact name comes first, then the longest name below which the one that is asked for lies. */
export function answerTo(records: readonly DnsRecord[], question: DnsQuestion, chance: Chance): DnsAnswer {
  const { type } = question
  const record = type === undefined ? undefined : bestRecord(records, question)
  if (record === undefined || type === undefined) return { does: 'forward' }
  switch (record.value) {
    case 'NXDOMAIN':
    case 'SERVFAIL':
      return { does: 'refuse', code: record.value }
    case 'DROP':
      return { does: 'drop' }
    case 'RANDOM':
      return { does: 'answer', records: [{ type, value: randomAddress(type, chance), ttl: record.ttl }] }
    default:
      return { does: 'answer', records: valuesOf(record, chance).map((value) => ({ ...record, value })) }
  }
}

function bestRecord(records: readonly DnsRecord[], { name, type }: DnsQuestion): DnsRecord | undefined {
  const asked = plain(name)
  const isFor = (record: DnsRecord) =>
    record.type === type || (record.type === 'CNAME' && (type === 'A' || type === 'AAAA'))
  const isAbove = (host: string) => asked === host || asked.endsWith(`.${host}`)
  const found = records.filter((record) => isFor(record) && isAbove(plain(record.hostname)))
  const rank = (record: DnsRecord) => plain(record.hostname).length * 2 + (record.type === type ? 1 : 0)
  return found.reduce<DnsRecord | undefined>(
    (best, record) => (best === undefined || rank(record) > rank(best) ? record : best),
    undefined,
  )
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Of addresses one, in turn; all of what clients choose from themselves. */
function valuesOf({ type, value }: DnsRecord, { turn }: Chance): readonly string[] {
  if (type === 'TXT') return [value]
  const values = value.split(',').map((one) => one.trim())
  const one = values[turn % values.length]
  return type === 'MX' || type === 'SRV' || one === undefined ? values : [one]
}

/** Of the networks for documentation, where nobody is. Source: RFC 5737, RFC 3849. */
function randomAddress(type: DnsRecordType, { below }: Chance): string {
  return type === 'AAAA' ? `2001:db8::${(below(0xffff) + 1).toString(16)}` : `192.0.2.${below(254) + 1}`
}

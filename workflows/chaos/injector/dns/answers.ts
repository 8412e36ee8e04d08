// Chooses the answers of the disrupted name server. Source: spec/chaos.md 3.7, "Answer rules".

import type { DnsRecord, DnsRecordType } from '../invocation.ts'

export interface DnsQuestion {
  readonly name: string
  /** Undefined for types that no record can have. */
  readonly type: DnsRecordType | undefined
}

export type DnsAnswer =
  | { readonly does: 'answer'; readonly records: readonly AnsweredRecord[] }
  | { readonly does: 'refuse'; readonly code: 'NXDOMAIN' | 'SERVFAIL' }
  /** Sends no answer, as if the query were lost. */
  | { readonly does: 'drop' }
  /** Forwards the query to the target's own name servers. */
  | { readonly does: 'forward' }

export interface AnsweredRecord {
  readonly type: DnsRecordType
  readonly value: string
  readonly ttl: number
}

export interface AnswerChoice {
  /** The number of earlier queries, for round robin over lists. */
  readonly turn: number
  /** An integer from 0 to less than the bound. */
  readonly below: (bound: number) => number
}

/** An exact name wins, then the longest parent domain. */
export function answerTo(records: readonly DnsRecord[], question: DnsQuestion, chance: AnswerChoice): DnsAnswer {
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
  const queried = normalized(name)
  const isFor = (record: DnsRecord) =>
    record.type === type || (record.type === 'CNAME' && (type === 'A' || type === 'AAAA'))
  const isAbove = (host: string) => queried === host || queried.endsWith(`.${host}`)
  const found = records.filter((record) => isFor(record) && isAbove(normalized(record.hostname)))
  const rank = (record: DnsRecord) => normalized(record.hostname).length * 2 + (record.type === type ? 1 : 0)
  return found.reduce<DnsRecord | undefined>(
    (best, record) => (best === undefined || rank(record) > rank(best) ? record : best),
    undefined,
  )
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** One address by round robin; all values of types from which clients choose themselves. */
function valuesOf({ type, value }: DnsRecord, { turn }: AnswerChoice): readonly string[] {
  if (type === 'TXT') return [value]
  const values = value.split(',').map((one) => one.trim())
  const one = values[turn % values.length]
  return type === 'MX' || type === 'SRV' || one === undefined ? values : [one]
}

/** An address of the documentation networks, which nobody uses. Source: RFC 5737, RFC 3849. */
function randomAddress(type: DnsRecordType, { below }: AnswerChoice): string {
  return type === 'AAAA' ? `2001:db8::${(below(0xffff) + 1).toString(16)}` : `192.0.2.${below(254) + 1}`
}

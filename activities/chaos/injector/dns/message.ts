// DNS questions and answers on the wire, by the library dns-packet. Source: RFC 1035 4.1, RFC 3596 (AAAA), RFC 2782 (SRV).

import { type Answer, decode, encode, type Packet, RECURSION_AVAILABLE } from 'dns-packet'

import type { AnsweredRecord, DnsQuestion } from '../../../../workflows/chaos/injector/dns/answers.ts'
import type { DnsRecordType } from '../../../../workflows/chaos/injector/invocation.ts'

const TYPES: readonly string[] = ['A', 'AAAA', 'CNAME', 'MX', 'SRV', 'TXT'] satisfies readonly DnsRecordType[]
/** Response codes in the last four bits of the flags. */
const CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const
export type ResponseCode = keyof typeof CODES

/** The answer repeats the operation code and the "recursion desired" bit of the question. */
const REPEATED_BITS = 0x7900
/** A string of a TXT record has at most this many bytes. */
const TEXT_BYTES = 255

export interface ParsedQuestion extends DnsQuestion {
  readonly packet: Packet
}

/** @returns the only question of a message; undefined for other messages, which the responder forwards unchanged. */
export function parseQuestion(message: Buffer): ParsedQuestion | undefined {
  const packet = decodeMessage(message)
  const [question] = packet?.questions ?? []
  if (packet?.type !== 'query' || packet.questions?.length !== 1 || question?.class !== 'IN') return undefined
  const type = TYPES.includes(question.type) ? (question.type as DnsRecordType) : undefined
  return { name: question.name === '.' ? '' : question.name, type, packet }
}

function decodeMessage(message: Buffer): Packet | undefined {
  try {
    return decode(message)
  } catch {
    // The library throws errors of many kinds for a message that is not DNS.
    return undefined
  }
}

export function encodeAnswer(
  { packet: { id = 0, flags = 0, questions = [] } }: ParsedQuestion,
  code: ResponseCode,
  records: readonly AnsweredRecord[],
): Buffer {
  const [name = ''] = questions.map((question) => question.name)
  return encode({
    type: 'response',
    id,
    flags: (flags & REPEATED_BITS) | RECURSION_AVAILABLE | CODES[code],
    questions,
    answers: records.map((record) => encodeRecord(name, record)),
  })
}

function encodeRecord(name: string, { type, value, ttl }: AnsweredRecord): Answer {
  const [first = '', second = '', third = '', fourth = ''] = value.split(/\s+/)
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
      return { type, name, ttl, data: value }
    case 'TXT':
      return { type, name, ttl, data: textParts(Buffer.from(value)) }
    case 'MX':
      return { type, name, ttl, data: { preference: Number(first), exchange: second } }
    case 'SRV':
      return {
        type,
        name,
        ttl,
        data: { priority: Number(first), weight: Number(second), port: Number(third), target: fourth },
      }
  }
}

function textParts(bytes: Buffer): Buffer[] {
  const count = Math.max(1, Math.ceil(bytes.length / TEXT_BYTES))
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * TEXT_BYTES, (index + 1) * TEXT_BYTES))
}

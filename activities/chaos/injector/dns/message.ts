// Parses DNS queries and encodes DNS answers. Source: RFC 1035 4.1, RFC 3596 (AAAA), RFC 2782 (SRV).

import type { AnsweredRecord, DnsQuestion } from '../../../../workflows/chaos/injector/dns/answers.ts'
import type { DnsRecordType } from '../../../../workflows/chaos/injector/invocation.ts'

const NUMBERS: Readonly<Record<DnsRecordType, number>> = { A: 1, CNAME: 5, MX: 15, TXT: 16, AAAA: 28, SRV: 33 }
const CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as const
export type ResponseCode = keyof typeof CODES

const HEADER_BYTES = 12
const ANSWER_BIT = 0x8000
const RECURSION_AVAILABLE_BIT = 0x0080
/** Opcode and RD are copied from the query. */
const COPIED_BITS = 0x7900
const CLASS_INTERNET = 1
/** A compression pointer to the name in the question. */
const POINTER_TO_QUESTION = 0xc00c

export interface ParsedQuestion extends DnsQuestion {
  /** The end of the question section. */
  readonly end: number
}

/** The question of a message; undefined without exactly one question, and for a response. */
export function parseQuestion(message: Buffer): ParsedQuestion | undefined {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & ANSWER_BIT) !== 0) return undefined
  if (message.readUInt16BE(4) !== 1) return undefined
  const labels: string[] = []
  let at = HEADER_BYTES
  for (;;) {
    const length = message[at]
    // A question is the first record of a message, so its name cannot contain a compression pointer.
    if (length === undefined || length > 63 || at + length + 1 > message.length) return undefined
    at += 1
    if (length === 0) break
    labels.push(message.toString('latin1', at, at + length))
    at += length
  }
  if (at + 4 > message.length) return undefined
  const number = message.readUInt16BE(at)
  const [type] = Object.entries(NUMBERS).find(([, one]) => one === number) ?? []
  return { name: labels.join('.'), type: type as DnsRecordType | undefined, end: at + 4 }
}

/** The answer to a parsed query. */
export function encodeAnswer(
  message: Buffer,
  { end }: ParsedQuestion,
  code: ResponseCode,
  records: readonly AnsweredRecord[],
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  message.copy(header, 0, 0, 2)
  header.writeUInt16BE((message.readUInt16BE(2) & COPIED_BITS) | ANSWER_BIT | RECURSION_AVAILABLE_BIT | CODES[code], 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records.map(encodeRecord)])
}

function encodeRecord({ type, value, ttl }: AnsweredRecord): Buffer {
  const data = encodeData(type, value)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(POINTER_TO_QUESTION, 0)
  head.writeUInt16BE(NUMBERS[type], 2)
  head.writeUInt16BE(CLASS_INTERNET, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function encodeData(type: DnsRecordType, value: string): Buffer {
  const words = value.split(/\s+/)
  switch (type) {
    case 'A':
      return Buffer.from(value.split('.').map(Number))
    case 'AAAA':
      return encodeIpv6(value)
    case 'CNAME':
      return encodeName(value)
    case 'TXT':
      return encodeTexts(value)
    case 'MX':
    case 'SRV':
      return Buffer.concat([...words.slice(0, -1).map(twoBytes), encodeName(words.at(-1) ?? '')])
  }
}

function twoBytes(digits: string): Buffer {
  const number = Buffer.alloc(2)
  number.writeUInt16BE(Number(digits))
  return number
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
    Buffer.from([0]),
  ])
}

function encodeTexts(text: string): Buffer {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at < Math.max(bytes.length, 1); at += 255) {
    const part = bytes.subarray(at, at + 255)
    parts.push(Buffer.from([part.length]), part)
  }
  return Buffer.concat(parts)
}

function encodeIpv6(text: string): Buffer {
  const [before = '', after] = text.split('::')
  const groups = (part: string | undefined) =>
    part === undefined || part === '' ? [] : part.split(':').flatMap(groupOf)
  const [head, tail] = [groups(before), groups(after)]
  const all =
    after === undefined ? head : [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
  const bytes = Buffer.alloc(16)
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}

/** The last group may be an IPv4 address, which is two groups. */
function groupOf(group: string): readonly number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

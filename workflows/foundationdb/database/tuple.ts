// FoundationDB's tuple layer, as far as the lock uses it: texts and whole numbers of 64 bits. Wire format:
// spec/foundationdb.md 3.1.
//
//   T1. The bytes of two tuples compare as the tuples do.
//   T2. Unknown or cut bytes are an error, so that the caller never overwrites a value that it cannot read.

export type TupleElement = string | number | bigint

const TEXT = 0x02
const ZERO = 0x14
const MOST_BYTES = 8
const ESCAPE = 0xff

/** @throws a plain Error (a bug) for a fraction, or a number that does not fit into 64 bits. */
export function packTuple(elements: readonly TupleElement[]): Uint8Array {
  return Uint8Array.from(
    elements.flatMap((one) => (typeof one === 'string' ? packText(one) : packInteger(BigInt(one)))),
  )
}

/** Numbers are a `bigint` where a `number` would lose digits. @throws a plain Error that names the position (T2). */
export function unpackTuple(bytes: Uint8Array): readonly TupleElement[] {
  const elements: TupleElement[] = []
  for (let at = 0; at < bytes.length;) {
    const code = bytes[at] ?? 0
    const { value, next } = code === TEXT ? unpackText(bytes, at + 1) : unpackInteger(bytes, at, code - ZERO)
    elements.push(value)
    at = next
  }
  return elements
}

function packText(text: string): readonly number[] {
  return [TEXT, ...utf8Bytes(text).flatMap((byte) => (byte === 0 ? [0, ESCAPE] : [byte])), 0]
}

/** The sandbox of workflows has no TextEncoder. */
function utf8Bytes(text: string): readonly number[] {
  const encoded = encodeURIComponent(text)
  return Array.from(encoded.matchAll(/%([0-9A-F]{2})|[^]/g), ([character, hex]) =>
    hex === undefined ? character.charCodeAt(0) : Number.parseInt(hex, 16),
  )
}

function packInteger(value: bigint): readonly number[] {
  const magnitude = value < 0n ? -value : value
  const hex = magnitude === 0n ? '' : magnitude.toString(16)
  const length = Math.ceil(hex.length / 2)
  if (length > MOST_BYTES) throw new Error(`tuple: found the number ${value}; expected one of at most 64 bits`)
  const bytes = [...hex.padStart(length * 2, '0').matchAll(/../g)].map(([pair]) => Number.parseInt(pair, 16))
  return value < 0n ? [ZERO - length, ...bytes.map((byte) => ~byte & 0xff)] : [ZERO + length, ...bytes]
}

interface Unpacked {
  readonly value: TupleElement
  readonly next: number
}

function unpackText(bytes: Uint8Array, from: number): Unpacked {
  let encoded = ''
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0 && bytes[at + 1] !== ESCAPE) return { value: decoded(encoded, from), next: at + 1 }
    encoded += `%${byte.toString(16).padStart(2, '0')}`
    if (byte === 0) at++
  }
  throw new Error(`tuple: the text at byte ${from} has no end`)
}

function decoded(encoded: string, from: number): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw new Error(`tuple: the text at byte ${from} is not UTF-8`)
  }
}

/** @param signedLength the number of bytes, negative for negative numbers. */
function unpackInteger(bytes: Uint8Array, at: number, signedLength: number): Unpacked {
  const length = Math.abs(signedLength)
  const next = at + 1 + length
  if (length > MOST_BYTES)
    throw new Error(`tuple: found the type ${bytes[at]} at byte ${at}; expected a text or a number`)
  if (next > bytes.length) throw new Error(`tuple: the number at byte ${at} is cut`)
  const flip = signedLength < 0 ? 0xff : 0
  const magnitude = [...bytes.subarray(at + 1, next)].reduce((sum, byte) => sum * 256n + BigInt(byte ^ flip), 0n)
  const value = signedLength < 0 ? -magnitude : magnitude
  const isSafe = magnitude <= BigInt(Number.MAX_SAFE_INTEGER)
  return { value: isSafe ? Number(value) : value, next }
}

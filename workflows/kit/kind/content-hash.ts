// A content hash for names, labels and annotations that trigger a rollout: equal content, equal hash. Pure, because the
// sandbox has no crypto. SHA-256 (FIPS 180-4) of the canonical JSON, cut to 64 bits. It does not protect secrets:
// possible contents can be tried.

import { canonicalJson } from './projection.ts'

const LETTERS = 16

/** 16 letters and digits. Undefined fields and the order of keys do not count. */
export function contentHash(value: unknown): string {
  return sha256(value === undefined ? '' : canonicalJson(value)).slice(0, LETTERS)
}

// The fractions of the cube roots of the first 64 primes, and of the square roots of the first eight.
const PRIMES = firstPrimes(64)
const ROUNDS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))

/** The SHA-256 of a well-formed text in UTF-8, as 64 hexadecimal digits. */
export function sha256(text: string): string {
  const words = padded(utf8(text))
  const state = Int32Array.from(START)
  const schedule = new Int32Array(64)
  for (let at = 0; at < words.length; at += 16) {
    for (let t = 0; t < 16; t++) schedule[t] = words[at + t] ?? 0
    compress(state, schedule)
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** The sandbox has no TextEncoder. */
function utf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3)
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at) ?? 0
    if (point > 0xffff) at++
    const tails = Number(point >= 0x80) + Number(point >= 0x800) + Number(point >= 0x10000)
    bytes[length++] = tails === 0 ? point : (0xff00 >> (tails + 1)) | (point >> (6 * tails))
    for (let tail = tails - 1; tail >= 0; tail--) bytes[length++] = 0x80 | ((point >> (6 * tail)) & 0x3f)
  }
  return bytes.subarray(0, length)
}

/** The padded message as words of 32 bits, a multiple of sixteen: the message, a one, zeros, and the message's length in bits. */
function padded(bytes: Uint8Array): Int32Array {
  const words = new Int32Array((((bytes.length + 8) >>> 6) + 1) * 16)
  for (let at = 0; at <= bytes.length; at++) {
    const byte = bytes[at] ?? 0x80
    words[at >>> 2] = (words[at >>> 2] ?? 0) | (byte << (24 - (at & 3) * 8))
  }
  words[words.length - 2] = Math.floor(bytes.length / 2 ** 29)
  words[words.length - 1] = bytes.length << 3
  return words
}

/** Adds a block, whose words are the first sixteen of the schedule, to the state. */
function compress(state: Int32Array, words: Int32Array): void {
  const word = (at: number) => words[at] ?? 0
  for (let t = 16; t < 64; t++) {
    const w2 = word(t - 2)
    const w15 = word(t - 15)
    const low = rotated(w15, 7) ^ rotated(w15, 18) ^ (w15 >>> 3)
    const high = rotated(w2, 17) ^ rotated(w2, 19) ^ (w2 >>> 10)
    words[t] = high + word(t - 7) + low + word(t - 16)
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g)
    const sum = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + sum + choice + (ROUNDS[t] ?? 0) + word(t)) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  ;[a, b, c, d, e, f, g, h].forEach((value, at) => {
    state[at] = (state[at] ?? 0) + value
  })
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

/** The first 32 bits of the fraction. */
function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 2 ** 32) | 0
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let one = 2; primes.length < count; one++) if (primes.every((prime) => one % prime !== 0)) primes.push(one)
  return primes
}

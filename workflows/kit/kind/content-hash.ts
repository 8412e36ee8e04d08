// A content hash for names, labels and annotations that trigger a rollout: equal content, equal hash. Pure, because the
// sandbox has no crypto. SHA-256 (FIPS 180-4) of the canonical JSON, cut to 64 bits. It does not protect secrets:
// possible contents can be tried.

import { canonicalJson } from './projection.ts'

const LETTERS = 16

/** 16 letters and digits. Undefined fields and the order of keys do not count. */
export function contentHash(value: unknown): string {
  return sha256(utf8(value === undefined ? '' : canonicalJson(value))).slice(0, LETTERS)
}

// The fractions of the cube roots of the first 64 primes, and of the square roots of the first eight.
const PRIMES = firstPrimes(64)
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime))) as unknown as State

type State = readonly [number, number, number, number, number, number, number, number]

/** For well-formed text, as JSON is. */
function utf8(text: string): readonly number[] {
  return Array.from(text).flatMap((character) => {
    const point = character.codePointAt(0) ?? 0
    const tail = (shift: number) => 0x80 | ((point >> shift) & 0x3f)
    if (point < 0x80) return [point]
    if (point < 0x800) return [0xc0 | (point >> 6), tail(0)]
    if (point < 0x10000) return [0xe0 | (point >> 12), tail(6), tail(0)]
    return [0xf0 | (point >> 18), tail(12), tail(6), tail(0)]
  })
}

/** In hexadecimal digits. */
export function sha256(bytes: readonly number[]): string {
  const words = padded(bytes)
  let state = START
  for (let at = 0; at < words.length; at += 16) state = compressed(state, words.slice(at, at + 16))
  return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** The padded message as words of 32 bits, a multiple of sixteen: the message, a one, zeros, and the message's length in bits. */
function padded(bytes: readonly number[]): number[] {
  const count = (((bytes.length + 8) >>> 6) + 1) * 16
  const words = Array<number>(count).fill(0)
  const put = (at: number, byte: number) => {
    words[at >>> 2] = (words[at >>> 2] ?? 0) | (byte << (24 - (at % 4) * 8))
  }
  bytes.forEach((byte, at) => {
    put(at, byte)
  })
  put(bytes.length, 0x80)
  words[count - 2] = Math.floor(bytes.length / 2 ** 29)
  words[count - 1] = (bytes.length << 3) | 0
  return words
}

function compressed(state: State, block: readonly number[]): State {
  const words = [...block]
  for (let t = 16; t < 64; t++) {
    const [w2 = 0, w7 = 0, w15 = 0, w16 = 0] = [words[t - 2], words[t - 7], words[t - 15], words[t - 16]]
    const low = rotated(w15, 7) ^ rotated(w15, 18) ^ (w15 >>> 3)
    const high = rotated(w2, 17) ^ rotated(w2, 19) ^ (w2 >>> 10)
    words.push((high + w7 + low + w16) | 0)
  }
  let [a, b, c, d, e, f, g, h] = state
  words.forEach((word, t) => {
    const choice = (e & f) ^ (~e & g)
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + (ROUNDS[t] ?? 0) + word) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  })
  return [a, b, c, d, e, f, g, h].map((word, index) => (word + (state[index] ?? 0)) | 0) as unknown as State
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

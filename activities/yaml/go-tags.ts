// Values of YAML words in Go's reader (sigs.k8s.io/yaml, which is go-yaml v2), where the npm library's YAML 1.1
// differs.

import { isUtf8 } from 'node:buffer'
import { isScalar, type ScalarTag, type Tags } from 'yaml'

import { exactInteger } from '../../workflows/kit/kind/exact-json.ts'

// Types that Go's decoder leaves as text, and that JSON does not have.
const FOREIGN_TAGS = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`)

// 1:30 is text for Go, not ninety; so is what looks like a number and has no digit, as a dot does.
export function onlyJson(tags: Tags): Tags {
  const kept = tags
    .filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !FOREIGN_TAGS.includes(tag.tag)))
    .map((tag) => (typeof tag !== 'string' && /:(int|float)$/.test(tag.tag) ? asGoCounts(tag as ScalarTag) : tag))
  return [binary, ...GO_INTEGERS.map(asGoCounts), ...kept]
}

// Forms that Go's strconv.ParseInt reads, and YAML 1.1 does not know.
export const GO_INTEGERS: readonly ScalarTag[] = [
  integer(/^[-+]?0[oO][0-7_]+$/, 8),
  integer(/^[-+]?0X[0-9a-fA-F_]+$/, 16),
  integer(/^[-+]?0B[01_]+$/, 2),
]

function integer(test: RegExp, radix: 8 | 16 | 2): ScalarTag {
  return {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test,
    resolve: (text) => {
      const value = BigInt(`${PREFIXES[radix]}${text.replace(/^[-+]?0./, '').replaceAll('_', '')}`)
      return text.startsWith('-') ? -value : value
    },
  }
}

const PREFIXES = { 8: '0o', 16: '0x', 2: '0b' }
/** A prefix without a digit. */
const NO_DIGIT = /^[-+]?0(?:[xXbBoO]_*|_+)$/
/** A double holds 309 digits of an integer. */
const MOST_DIGITS = 309

// The one place where YAML numbers become values: an integer keeps every digit (exact-json.ts).
function asGoCounts(tag: ScalarTag): ScalarTag {
  return {
    ...tag,
    resolve(text, onError, options) {
      if (NO_DIGIT.test(text)) return text
      const isTooLong = text.length > MOST_DIGITS && /^[-+]?\d[\d_]*$/.test(text)
      const resolved = isTooLong ? Infinity : tag.resolve(text, onError, { ...options, intAsBigInt: true })
      const value = isScalar(resolved) ? resolved.value : resolved
      if (typeof value === 'bigint') return valueOfInteger(text, value)
      if (Number.isNaN(value) && !/nan/i.test(text)) return text
      if (!Number.isFinite(value)) onError('the number is not finite or too large; expected at most 1.8e308')
      return resolved
    },
  }
}

function valueOfInteger(text: string, value: bigint): unknown {
  // As JSON.parse reads it: both readers give the same value.
  if (value === 0n && text.startsWith('-')) return -0
  const isOutOfRange = /^[-+]?0\w/.test(text) && (value < LEAST || value > MOST)
  return isOutOfRange ? withoutBase(text) : exactInteger(value)
}

// Of integers with a base, those that have no room in 64 bits are not integers for Go.
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n]

// A text with digits only is then read as a decimal number.
function withoutBase(text: string): unknown {
  const digits = text.replaceAll('_', '')
  return /^[-+]?\d+$/.test(digits) ? exactInteger(BigInt(digits.replace('+', ''))) : text
}

const binary: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  default: false,
  resolve(text, onError) {
    const packed = text.replace(/[\r\n]/g, '')
    if (packed.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return textOf(Buffer.from(packed, 'base64'))
    onError('!!binary is no base64 text')
    return text
  },
}

/** As Go writes bytes into JSON: each that is no part of a character is a U+FFFD of its own. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? [...charactersOf(bytes)].join('') : text
}

const LONGEST_CHARACTER = 4

function* charactersOf(bytes: Buffer): Generator<string> {
  for (let at = 0; at < bytes.length;) {
    let length = 1
    while (length < LONGEST_CHARACTER && !isUtf8(bytes.subarray(at, at + length))) length++
    const character = bytes.subarray(at, at + length)
    const whole = at + length <= bytes.length && isUtf8(character)
    yield whole ? character.toString('utf8') : '\uFFFD'
    at += whole ? length : 1
  }
}

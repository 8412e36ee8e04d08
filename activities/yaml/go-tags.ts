// YAML tags that resolve scalars like Go's decoder (sigs.k8s.io/yaml, which is go-yaml v2) where the YAML 1.1 schema of
// the npm library differs.

import { isUtf8 } from 'node:buffer'
import { isScalar, type ScalarTag, type Tags } from 'yaml'

import { exactInteger } from '../../workflows/kit/kind/exact-json.ts'

// Types that do not exist in JSON and that Go's decoder reads as text.
const FOREIGN_TAGS = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`)

// Go's decoder reads 1:30 as text, not as 90, and also numbers without a digit, for example a dot.
export function onlyJson(tags: Tags): Tags {
  const usedTags = tags
    .filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !FOREIGN_TAGS.includes(tag.tag)))
    .map((tag) => (typeof tag !== 'string' && /:(int|float)$/.test(tag.tag) ? asGoCounts(tag as ScalarTag) : tag))
  return [binary, ...GO_INTEGERS.map(asGoCounts), ...usedTags]
}

// Integer formats of Go's strconv.ParseInt that YAML 1.1 does not have.
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
/** The largest double has 309 digits. */
const MOST_DIGITS = 309

// Converts all YAML numbers to values. Integers keep all digits (exact-json.ts).
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
  // JSON.parse returns -0 for the text -0; the YAML reader must return the same value.
  if (value === 0n && text.startsWith('-')) return -0
  const isOutOfRange = /^[-+]?0\w/.test(text) && (value < LEAST || value > MOST)
  return isOutOfRange ? withoutBase(text) : exactInteger(value)
}

// Go's decoder reads an integer with a base prefix as an integer only if it fits into 64 bits.
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n]

// The value of an out-of-range integer: a decimal number if the text contains only digits, otherwise the text.
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

/** Decodes bytes like Go's JSON encoder: replaces each invalid byte with its own U+FFFD. */
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

// YAML tags that resolve scalars like Go's decoder (sigs.k8s.io/yaml, which is go-yaml v2) where the YAML 1.1 schema of
// the npm library differs.

import { isUtf8 } from 'node:buffer'
import { isScalar, type ScalarTag, type Tags } from 'yaml'

import { exactInteger } from '../../workflows/kit/kind/exact-json.ts'

// Tags of YAML 1.1 without a JSON type, which the library must not apply. `binary` below replaces the library's !!binary.
const REMOVED_TAGS = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`)

/**
 * Replaces the library's tags: removes REMOVED_TAGS and base-60 numbers (Go's decoder reads 1:30 as a string, not as 90), and
 * adds !!binary and GO_INTEGERS. Numbers without a digit, for example a single dot, become strings.
 */
export function goTags(tags: Tags): Tags {
  const usedTags = tags
    .filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !REMOVED_TAGS.includes(tag.tag)))
    .map((tag) => (typeof tag !== 'string' && /:(int|float)$/.test(tag.tag) ? withGoNumbers(tag as ScalarTag) : tag))
  return [binary, ...GO_INTEGERS.map(withGoNumbers), ...usedTags]
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
/** A number without a digit: only a base prefix, such as `0x`, or a zero and underscores, `0_`. */
const NO_DIGIT = /^[-+]?0(?:[xXbBoO]_*|_+)$/
/** The largest double has 309 digits. */
const MAX_DIGITS = 309

// The number tag with the values of Go's decoder: integers keep all digits (exact-json.ts), and a text that Go does not read as a number stays a string.
function withGoNumbers(tag: ScalarTag): ScalarTag {
  return {
    ...tag,
    resolve(text, onError, options) {
      if (NO_DIGIT.test(text)) return text
      const isTooLong = text.length > MAX_DIGITS && /^[-+]?\d[\d_]*$/.test(text)
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
  const isOutOfRange = /^[-+]?0\w/.test(text) && (value < MIN_INT64 || value > MAX_UINT64)
  return isOutOfRange ? decimalOrText(text) : exactInteger(value)
}

// Go's decoder reads an integer with a base prefix as an integer only if it fits into 64 bits.
const [MIN_INT64, MAX_UINT64] = [-(2n ** 63n), 2n ** 64n - 1n]

// The value of an out-of-range integer: a decimal number if the text contains only digits, otherwise the text.
function decimalOrText(text: string): unknown {
  const digits = text.replaceAll('_', '')
  return /^[-+]?\d+$/.test(digits) ? exactInteger(BigInt(digits.replace('+', ''))) : text
}

const binary: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  default: false,
  resolve(text, onError) {
    const encoded = text.replace(/[\r\n]/g, '')
    if (encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded))
      return decodeUtf8(Buffer.from(encoded, 'base64'))
    onError('!!binary: found invalid base64')
    return text
  },
}

/** Decodes bytes like Go's JSON encoder: replaces each invalid byte with its own U+FFFD. */
function decodeUtf8(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? [...charactersOf(bytes)].join('') : text
}

/** Bytes of the longest UTF-8 character. */
const LONGEST_CHARACTER = 4

function* charactersOf(bytes: Buffer): Generator<string> {
  for (let at = 0; at < bytes.length;) {
    // The shortest valid UTF-8 sequence that starts here.
    let length = 1
    while (length < LONGEST_CHARACTER && !isUtf8(bytes.subarray(at, at + length))) length++
    const character = bytes.subarray(at, at + length)
    const isValid = at + length <= bytes.length && isUtf8(character)
    yield isValid ? character.toString('utf8') : '\uFFFD'
    at += isValid ? length : 1
  }
}

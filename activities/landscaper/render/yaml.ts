// Reads YAML as the original's library does: YAML 1.1 words (yes, on), later duplicates win, nothing but JSON values comes out.
// Bombs of aliases, size and nesting end in an error. The time is bounded beforehand: parsing takes some microseconds
// a token, and each alias a look through the whole document. Where it is read, bounded/tenant-data.ts decides.

import { isNode, isScalar, LineCounter, parseDocument, type ScalarTag, type Tags, type YAMLParseError } from 'yaml'
import { excessOf } from '../bounded/yaml-effort.ts'

const MAX_ALIAS_COUNT = 100
const MAX_TEXT_BYTES = 4 * 1024 * 1024
const LIMITS = { maxTokens: 250_000, maxOpenBrackets: 1000, maxLooks: 5_000_000 }
// Types that Go's decoder leaves as text, and that JSON does not have.
const FOREIGN_TAGS = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`)

export type YamlPath = readonly (string | number)[]

export interface ParsedYaml {
  readonly value: unknown
  /** The line, from 1, on which the value at a path begins; of its nearest parent if it is absent. */
  lineOf(path: YamlPath): number
}

/** Text that is not YAML. The message may quote the text; `reason` is one of the library's codes in words and never does. */
export class YamlError extends Error {
  /** From 1. */
  readonly line: number
  readonly column: number
  readonly reason: string

  constructor(place: { line: number; col: number }, reason: string, message = reason) {
    super(message)
    this.name = 'YamlError'
    this.line = place.line
    this.column = place.col
    this.reason = reason
  }
}

const START = { line: 1, col: 1 }
const TOO_MANY_ALIASES = 'found too many or unknown aliases, expected fewer'
const TOO_DEEP = 'nested too deeply, expected fewer levels'

/** @throws YamlError for the first error in the text. */
export function parseYaml(text: string): ParsedYaml {
  checkLength(text)
  return parseChecked(text)
}

/** The value alone. @throws YamlError for the first error in the text. */
export function readYaml(text: string): unknown {
  checkLength(text)
  const json = jsonIn(text)
  return json === undefined ? parseChecked(text).value : json.value
}

// JSON needs a small part of the memory and time. As YAML it has the same value, with the last of equal keys, too: its keys and texts
// are in quotes, where nothing is a word, a merge or a date.
function jsonIn(text: string): { readonly value: unknown } | undefined {
  if (!/^[ \n\r]*[[{]/.test(text)) return undefined
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

function parseChecked(text: string): ParsedYaml {
  const lines = new LineCounter()
  try {
    const document = parseDocument(text, {
      version: '1.1',
      customTags: onlyJson,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
      lineCounter: lines,
    })
    const [first] = document.errors
    if (first !== undefined) throw errorOf(first, lines.linePos(first.pos[0]))
    const lineOf = (path: YamlPath): number => {
      const node = document.getIn(path, true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
      return path.length === 0 ? 1 : lineOf(path.slice(0, -1))
    }
    return { value: document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }), lineOf }
  } catch (error) {
    // Thrown by the library for too many aliases, and by the runtime for values nested deeper than its stack.
    if (error instanceof ReferenceError) throw new YamlError(START, TOO_MANY_ALIASES)
    if (error instanceof RangeError) throw new YamlError(START, TOO_DEEP)
    throw error
  }
}

function checkLength(text: string): void {
  if (text.length > MAX_TEXT_BYTES) {
    throw new YamlError(START, `found ${text.length} characters, expected at most ${MAX_TEXT_BYTES}`)
  }
  switch (excessOf(text, LIMITS)) {
    case 'maxOpenBrackets':
      throw new YamlError(START, TOO_DEEP)
    case 'maxTokens':
      throw new YamlError(START, `found more than ${LIMITS.maxTokens} tokens, expected less text`)
    case 'maxLooks':
      throw new YamlError(START, TOO_MANY_ALIASES)
    case undefined:
      return
  }
}

function errorOf(error: Pick<YAMLParseError, 'code' | 'message'>, place: { line: number; col: number }): YamlError {
  if (error.code === 'RESOURCE_EXHAUSTION') return new YamlError(place, TOO_DEEP)
  const message = error.message.charAt(0).toLowerCase() + error.message.slice(1)
  return new YamlError(place, error.code.toLowerCase().replaceAll('_', ' '), message)
}

// 1:30 is text for Go, not ninety; so is what looks like a number and has no digit, as a dot does.
function onlyJson(tags: Tags): Tags {
  return tags
    .filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !FOREIGN_TAGS.includes(tag.tag)))
    .map((tag) => (typeof tag !== 'string' && /:(int|float)$/.test(tag.tag) ? withDigits(tag as ScalarTag) : tag))
}

function withDigits(tag: ScalarTag): ScalarTag {
  return {
    ...tag,
    resolve(text, onError, options) {
      const resolved = tag.resolve(text, onError, options)
      const value = isScalar(resolved) ? resolved.value : resolved
      return Number.isNaN(value) && !/nan/i.test(text) ? text : resolved
    },
  }
}

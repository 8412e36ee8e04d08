// Reads YAML as the original's library does: YAML 1.1 words (yes, on), later duplicates win, nothing but JSON values comes out.
// Bombs of aliases, size and nesting end in an error. The time is bounded beforehand: parsing takes some microseconds
// a token, and each alias a look through the whole document. Where it is read, bounded/tenant-data.ts decides.
// The npm parser is stricter than Go's; what it complains of is put before Go's own, see yaml-by-go.ts.

import { readJson } from '../../../workflows/kit/kind/exact-json.ts'
import { isNode, LineCounter, parseDocument, type Document, type YAMLParseError } from 'yaml'
import { excessOf } from '../bounded/yaml-effort.ts'
import { onlyJson } from './yaml-tags.ts'

const MAX_ALIAS_COUNT = 100
const MAX_TEXT_BYTES = 4 * 1024 * 1024
const LIMITS = { maxTokens: 250_000, maxOpenBrackets: 1000, maxLooks: 5_000_000 }
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

/** Our parser complains of the text itself; Go's may read it all the same. */
export class YamlSyntaxError extends YamlError {}

const START = { line: 1, col: 1 }
const TOO_MANY_ALIASES = 'found too many or unknown aliases, expected fewer'
const TOO_DEEP = 'nested too deeply, expected fewer levels'

/** @throws YamlError for the first error in the text. */
export function parseYaml(text: string): ParsedYaml {
  checkLength(text)
  return parseChecked(text)
}

/**
 * What Go's reader made of a text of which our parser complains. The lines are as far as it has come nevertheless:
 * of what stands beyond, those of a parent.
 *
 * @param json as which Go reads the text.
 * @throws YamlError where the text or the value is more than is read.
 */
export function parseReadByGo(text: string, json: string): ParsedYaml {
  checkLength(text)
  return { value: readYaml(json), lineOf: bounded(() => treeOf(text)).lineOf }
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
    return { value: readJson(text) }
  } catch {
    return undefined
  }
}

function parseChecked(text: string): ParsedYaml {
  return bounded(() => {
    const { document, lines, lineOf } = treeOf(text)
    const [first] = document.errors
    if (first !== undefined) throw errorOf(first, lines.linePos(first.pos[0]))
    return { value: valueOf(document), lineOf }
  })
}

interface YamlTree extends Pick<ParsedYaml, 'lineOf'> {
  readonly document: Document.Parsed
  readonly lines: LineCounter
}

function treeOf(text: string): YamlTree {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.1',
    customTags: onlyJson,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  })
  const lineOf = (path: YamlPath): number => {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    return path.length === 0 ? 1 : lineOf(path.slice(0, -1))
  }
  return { document, lines, lineOf }
}

function valueOf(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }) as unknown
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('Merge sources')) throw error
    throw new YamlSyntaxError(START, 'found << with what is no map, expected a map or an alias of one')
  }
}

function bounded<T>(work: () => T): T {
  try {
    return work()
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
  return new YamlSyntaxError(place, error.code.toLowerCase().replaceAll('_', ' '), message)
}

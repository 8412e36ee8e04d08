// Reads YAML as kubectl and Landscaper do (sigs.k8s.io/yaml): YAML 1.1 words (yes, on), merge keys, later duplicates win, only JSON values result.
// Size, nesting and the size with all aliases expanded are limited. The time is limited before the text is parsed: parsing takes some microseconds a
// token. bounded/tenant-data.ts decides where texts of tenants are read. The npm parser is stricter than Go's; yaml-by-go.ts of the Landscaper wing
// gives the texts that it rejects to Go's own reader.

import {
  type Document,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  parseDocument,
  visit,
  type YAMLParseError,
} from 'yaml'
import { readJson } from '../../workflows/kit/kind/exact-json.ts'
import { type ExpandedSize, expandAliases } from './expand-aliases.ts'
import { goTags } from './go-tags.ts'
import { excessOf, type YamlEffort } from './yaml-effort.ts'

export interface YamlLimits extends YamlEffort {
  readonly maxCharacters: number
  /** With each alias replaced by the value of its anchor. */
  readonly expanded: ExpandedSize
}

const MIB = 1024 * 1024
/** For texts of tenants. */
const TENANT_LIMITS: YamlLimits = {
  maxCharacters: 4 * MIB,
  maxTokens: 250_000,
  maxOpenBrackets: 1000,
  expanded: { nodes: 250_000, characters: 8 * MIB },
}
/** For files that users give to a command: bundles of definitions are large. */
export const FILE_LIMITS: YamlLimits = {
  maxCharacters: 256 * MIB,
  maxTokens: Infinity,
  maxOpenBrackets: 1000,
  expanded: { nodes: 10_000_000, characters: 256 * MIB },
}

export interface YamlOptions {
  /** Those for texts of tenants by default. */
  readonly limits?: YamlLimits
  /** Rejects repeated keys and more than one document. */
  readonly strict?: boolean
}

export type YamlPath = readonly (string | number)[]

export interface YamlPlace {
  readonly line: number
  readonly column: number
}

export interface ParsedYaml {
  readonly value: unknown
  /** As `lineOf`, with the column, from 1. */
  placeOf(path: YamlPath): YamlPlace
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
const UNKNOWN_ALIAS = 'found an unknown alias; expected an anchor with its name above it'
const OWN_ALIAS = 'found an alias inside its own anchor; expected it after the anchor'
const TOO_DEEP = 'nested too deeply; expected fewer levels'

/** @throws YamlError for the first error in the text. */
export function parseYaml(text: string, options: YamlOptions = {}): ParsedYaml {
  const { limits = TENANT_LIMITS } = options
  checkLength(text, limits)
  return bounded(() => parsedOf(firstTree(text), options))
}

/**
 * Reads a text that our parser rejects and Go's reader accepts. Nodes that our parser did not reach get the line of their parent.
 *
 * @param json as which Go reads the text.
 * @throws YamlError where the text or the value is more than is read.
 */
export function parseReadByGo(text: string, json: string): ParsedYaml {
  checkLength(text, TENANT_LIMITS)
  return { value: readYaml(json), ...placesIn(bounded(() => firstTree(text))) }
}

/** The value alone. @throws YamlError for the first error in the text. */
export function readYaml(text: string, options: YamlOptions = {}): unknown {
  const { limits = TENANT_LIMITS } = options
  checkLength(text, limits)
  const json = jsonIn(text)
  return json === undefined ? bounded(() => parsedOf(firstTree(text), options)).value : json.value
}

/** Each document of a text, or the first error in it. @throws YamlError where the text is more than is read. */
export function parseYamlDocuments(text: string, options: YamlOptions = {}): readonly (ParsedYaml | YamlError)[] {
  const { limits = TENANT_LIMITS } = options
  checkLength(text, limits)
  return bounded(() => treesOf(text)).map((tree) => {
    try {
      return bounded(() => parsedOf(tree, options))
    } catch (error) {
      if (error instanceof YamlError) return error
      throw error
    }
  })
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

interface YamlTree {
  readonly document: Document.Parsed
  readonly lines: LineCounter
}

const SYNTAX = {
  version: '1.1',
  customTags: goTags,
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

function firstTree(text: string): YamlTree {
  const lines = new LineCounter()
  return { document: parseDocument(text, { ...SYNTAX, lineCounter: lines }), lines }
}

function treesOf(text: string): readonly YamlTree[] {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { ...SYNTAX, lineCounter: lines })
  return [...documents].map((document) => ({ document, lines }))
}

function placesIn({ document, lines }: YamlTree): Pick<ParsedYaml, 'lineOf' | 'placeOf'> {
  const placeOf = (path: YamlPath): YamlPlace => {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range) {
      const { line, col } = lines.linePos(node.range[0])
      return { line, column: col }
    }
    if (path.length > 0) return placeOf(path.slice(0, -1))
    const { line, col } = lines.linePos(document.range[0])
    return { line, column: col }
  }
  return { placeOf, lineOf: (path) => placeOf(path).line }
}

function parsedOf(tree: YamlTree, { limits = TENANT_LIMITS, strict = false }: YamlOptions): ParsedYaml {
  const { document, lines } = tree
  const [first] = document.errors
  if (first !== undefined) throw errorOf(first, lines.linePos(first.pos[0]))
  if (strict && hasRepeatedKey(document)) throw new YamlSyntaxError(START, 'duplicate key')
  // Before the aliases are replaced: a value that is used twice stands where its anchor stands.
  const places = placesIn(tree)
  const wrong = expandAliases(document, limits.expanded)
  if (wrong === undefined) return { value: valueOf(document), ...places }
  const place = lines.linePos(wrong.offset)
  switch (wrong.problem) {
    case 'unknown':
      throw new YamlError(place, UNKNOWN_ALIAS)
    case 'contains itself':
      throw new YamlError(place, OWN_ALIAS)
    case 'too large':
      throw new YamlError(place, `found aliases that expand to ${excess(limits.expanded)}`)
  }
}

function excess({ nodes, characters }: ExpandedSize): string {
  return `more than ${nodes} values or ${characters} characters; expected fewer`
}

function hasRepeatedKey(document: Document.Parsed): boolean {
  let found = false
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => (isScalar(key) ? String(key.value) : key)))
      if (keys.size === items.length) return undefined
      found = true
      return visit.BREAK
    },
  })
  return found
}

function valueOf(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: -1 }) as unknown
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('Merge sources')) throw error
    throw new YamlSyntaxError(START, 'found << without a map; expected a map or an alias of a map')
  }
}

function bounded<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    // Thrown by the runtime for values nested deeper than its stack.
    if (error instanceof RangeError) throw new YamlError(START, TOO_DEEP)
    throw error
  }
}

function checkLength(text: string, limits: YamlLimits): void {
  const { maxCharacters, maxTokens } = limits
  if (text.length > maxCharacters) {
    throw new YamlError(START, `found ${text.length} characters; expected at most ${maxCharacters}`)
  }
  switch (excessOf(text, limits)) {
    case 'maxOpenBrackets':
      throw new YamlError(START, TOO_DEEP)
    case 'maxTokens':
      throw new YamlError(START, `found more than ${maxTokens} tokens; expected less text`)
    case 'maxAliases':
    case undefined:
      return
  }
}

function errorOf(error: Pick<YAMLParseError, 'code' | 'message'>, place: { line: number; col: number }): YamlError {
  if (error.code === 'RESOURCE_EXHAUSTION') return new YamlError(place, TOO_DEEP)
  const message = error.message.charAt(0).toLowerCase() + error.message.slice(1)
  return new YamlSyntaxError(place, error.code.toLowerCase().replaceAll('_', ' '), message)
}

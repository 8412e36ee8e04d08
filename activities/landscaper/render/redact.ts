// Keeps values out of error texts. Not by looking for secrets, which a template may have encoded or cut, but the other way round:
// a word is shown only if the blueprint's author wrote it (or, in messages, if it belongs to the engine's own language).
//
//   R1. A word that is neither in the blueprint's text nor in the vocabulary is replaced, whatever it is.
//   R2. Lines and their number are kept, so that positions stay true.

import { gzipSync } from 'node:zlib'
import { shownText, type FileContent } from './file-content.ts'
import { VOCABULARY } from './vocabulary.ts'

const HIDDEN = '***'
const EDGE = new Set('"\'`,:;.()[]{}<>*=|@-')
const NOT_IN_NAMES = /[^\w-]+/
/** Line numbers and counts. */
const SHORT_NUMBER = /^\d{1,3}$/
const PATH = /^[\w-]+(?:\.\[\d+\]|\.[\w-]+)+$/
const SHOWN_HEAD = 600
const SHOWN_TAIL = 1200
/** As the original: longer dumps are compressed. */
const PLAIN_DUMP_BYTES = 512
const COMPRESSED_DUMP_BYTES = 4096
const MAX_SHAPE_DEPTH = 40

/** What the author of a blueprint wrote, and may read again in messages. */
export interface BlueprintText {
  readonly name: string
  readonly template: FileContent
  readonly files: Readonly<Record<string, FileContent>>
}

/** Rendered text with every word hidden that does not stand in the blueprint's own text. */
export function redactOutput(text: string, source: BlueprintText): string {
  const known = wordsOf(source)
  return hide(text, (word) => known.has(word))
}

/**
 * An engine's message with the values hidden that it quotes. Its head, `template: NAME:LINE:COLUMN: executing "NAME" at <ACTION>: `,
 * is the blueprint's own text and stays.
 */
export function redactMessage(message: string, source: BlueprintText): string {
  const known = wordsOf(source)
  const names = new Set([source.name, ...Object.keys(source.files)])
  const head = /^template: [^\n]*?:\d+(?::\d+)?: (?:executing "[^"\n]*" at <[^\n]*?>: )?/.exec(message)?.[0] ?? ''
  const isOurs = (word: string) =>
    known.has(word) ||
    VOCABULARY.has(word.toLowerCase()) ||
    SHORT_NUMBER.test(word) ||
    isPosition(word, names) ||
    isPathOf(word, known)
  return shorten(head + hide(message.slice(head.length), isOurs))
}

/** Nested includes repeat themselves: the beginning says where it was called, the end what is wrong. */
export function shorten(message: string): string {
  if (message.length <= SHOWN_HEAD + SHOWN_TAIL) return message
  return `${message.slice(0, SHOWN_HEAD)} ... ${message.slice(-SHOWN_TAIL)}`
}

/** The inputs of a template in their shape only: each value is replaced by its type. Longer dumps are gzipped and in base64. */
export function dumpShape(binding: unknown): string {
  const shape = JSON.stringify(shapeOf(binding))
  if (Buffer.byteLength(shape) <= PLAIN_DUMP_BYTES) return shape
  const compressed = gzipSync(shape).toString('base64')
  if (compressed.length <= COMPRESSED_DUMP_BYTES) return `gzip+base64: ${compressed}`
  return `left out, ${compressed.length} bytes compressed`
}

function shapeOf(value: unknown, depth = 0): unknown {
  if (value === null || value === undefined) return '[null]'
  if (typeof value === 'object' && depth >= MAX_SHAPE_DEPTH) return '[...]'
  if (Array.isArray(value)) return value.map((entry) => shapeOf(entry, depth + 1))
  if (typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, shapeOf(entry, depth + 1)]))
  }
  return typeof value === 'bigint' ? '[number]' : `[${typeof value}]`
}

function hide(text: string, isShown: (word: string) => boolean): string {
  const shown = text.replace(/\S+/g, (word) => (isShown(word) || isShown(trimmed(word)) ? word : HIDDEN))
  return shown.replace(/\*\*\*(?:[ \t]+\*\*\*)+/g, HIDDEN)
}

/** `NAME:LINE:COLUMN` of one of the blueprint's files. */
function isPosition(word: string, names: ReadonlySet<string>): boolean {
  const found = /^(.+?):\d+(?::\d+)?:?$/.exec(word)
  return found?.[1] !== undefined && names.has(found[1])
}

/** `deployItems.[0].name`, as Spiff names a place, made of the author's words. */
function isPathOf(word: string, known: ReadonlySet<string>): boolean {
  if (!PATH.test(word)) return false
  const parts = word.split(/[.[\]]+/).filter((part) => part !== '')
  return parts.every((part) => known.has(part) || SHORT_NUMBER.test(part))
}

// By hand, because regular expressions take quadratic time for texts such as ((((( or {{{{{.
function trimmed(word: string): string {
  let [start, end] = [0, word.length]
  while (start < end && EDGE.has(word.charAt(start))) start++
  while (end > start && EDGE.has(word.charAt(end - 1))) end--
  return word.slice(start, end)
}

function withoutActions(text: string): string {
  const kept: string[] = []
  let at = 0
  for (let open = text.indexOf('{{'); open !== -1; open = text.indexOf('{{', at)) {
    const close = text.indexOf('}}', open)
    if (close === -1) break
    kept.push(text.slice(at, open))
    at = close + 2
  }
  return [...kept, text.slice(at)].join(' ')
}

// Both with the actions, for messages that quote them, and without, for the text between them.
function wordsOf(source: BlueprintText): ReadonlySet<string> {
  const texts = [source.name, ...[source.template, ...Object.entries(source.files).flat()].map(shownText)]
  const words = [...texts, ...texts.map(withoutActions)].flatMap((text) => text.split(/\s+/))
  return new Set(['', ...words, ...words.flatMap((word) => [trimmed(word), ...word.split(NOT_IN_NAMES)])])
}

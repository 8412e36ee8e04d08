// Removes values from messages of servers, decoders and webhooks, because messages are stored and shown. Messages about
// refused fields have the form of k8s.io/apimachinery's field errors: `<kind of mistake>[: <value>][: <reason>]`. Pure.
//
//   F1. The value is removed. If the end of the value is unclear, the reason is removed too.
//   F2. Only the first line of the reason is kept, up to the first value in Go's syntax, because the API server appends
//       differences of objects.
//   F3. Texts in double quotes are values, except the list of supported values. Every text of the request body is
//       removed, because templates may have filled it with secrets; names of the object stay.

import { isFields } from '../../workflows/kit/index.ts'

/** `parsing time "<value>"` becomes `parsing time "..."`; quoted names of fields, kinds, users and the like stay. */
export function blankValues(message: string): string {
  return blankQuoted(message).replaceAll(UNQUOTED, '$1 ...')
}

// A quotation that was cut ends with the text.
function blankQuoted(message: string): string {
  return message.replaceAll(QUOTED, (quoted, ...groups) => {
    const { before = '', text = '', after = '' } = groups.at(-1) as { before?: string; text?: string; after?: string }
    const isName = (before !== '' || after !== '') && NAME.test(text)
    return isName ? quoted : `${before}"..."${after}`
  })
}

const QUOTED =
  /(?<before>\b(?:field|version|kind|resource|[Gg]roup|[Uu]ser|namespace|webhook|scope) )?"(?<text>(?:[^"\\]|\\.)*)(?:"|\\?$)(?<after> is forbidden)?/gs
const NAME = /^[\w.:@/[\]-]{0,253}$/

// Unquoted numbers, lists and maps in k8s.io/apimachinery's field errors, up to the reason.
const UNQUOTED = /\b((?:Invalid|Unsupported|Duplicate) value:) (?!"\.\.\.")(?:(?!: )[^\n])+/g

const MISTAKE =
  /^(Invalid value|Unsupported value|Duplicate value|Not found|Required value|Forbidden|Too long|Too many|Too few|Internal error)(?:: ([^]*))?$/
/** Mistakes whose message begins with the value. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  ...['Invalid value', 'Unsupported value', 'Duplicate value', 'Not found', 'Too many', 'Too few'],
])
const SUPPORTED = /^supported values: (?:"[\w./:-]{1,63}"(?:, )?)+$/
const GO_VALUE = /[\w.*\]]+(?:\{|\[[\w.*]*\][\w.*]*\{)/
const LONGEST_REASON = 300
// Longer messages are cut before they are searched.
const LONGEST_READ = 100_000

/** @param sent the body of the request. @returns undefined where the words have another form. */
export function refusedField(message: string, sent: unknown): string | undefined {
  const [, mistake, rest = ''] = MISTAKE.exec(message.slice(0, LONGEST_READ)) ?? []
  if (mistake === undefined) return undefined
  const reason = WITH_VALUE.has(mistake) ? afterValue(rest) : rest
  const shown = reason === undefined ? '' : withoutValues(reason, sent)
  return shown === '' ? mistake : `${mistake}: ${shown}`
}

function withoutValues(reason: string, sent: unknown): string {
  const [line = ''] = reason.split('\n')
  const words = line.slice(0, GO_VALUE.exec(line)?.index).trim()
  const remaining = withoutSentTexts(words, sent)
  const blank = SUPPORTED.test(remaining) ? remaining : blankValues(remaining).replace(/: "\.\.\."$/, '')
  return blank.length <= LONGEST_REASON ? blank : `${blank.slice(0, LONGEST_REASON)}...`
}

/** Returns the text after the value and a colon; undefined if that is missing or the end of the value is unclear. */
function afterValue(rest: string): string | undefined {
  const end = endOfValue(rest)
  return end !== undefined && rest.startsWith(': ', end) ? rest.slice(end + 2) : undefined
}

const OPEN = '([{'
const CLOSE = ')]}'

/** Where the value at the beginning ends: a quoted text, a word or number, JSON, or Go's syntax with brackets. */
function endOfValue(text: string): number | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '"') {
      const quoted = /"(?:[^"\\]|\\.)*"/sy
      quoted.lastIndex = at
      if (!quoted.test(text)) return undefined
      at = quoted.lastIndex - 1
    } else if (OPEN.includes(character)) depth++
    else if (CLOSE.includes(character)) depth--
    if (depth < 0) return undefined
    if (depth === 0 && (at + 1 === text.length || text.startsWith(': ', at + 1))) return at + 1
    if (depth === 0 && character === ' ') return undefined
  }
  return undefined
}

// Shorter texts are ordinary words and no secrets.
const SHORTEST = 4
// Texts of this length are also removed within a word.
const LONG = 12

/**
 * Replaces each text of a request body in a message by `***`.
 *
 * @param body the request body; its name, namespace, kind and labels stay.
 */
export function withoutSentTexts(sentence: string, body: unknown): string {
  const quoted = [...new Set(textsIn(body, namesIn(body)))]
    .filter((text) => sentence.includes(text))
    .sort((one, other) => other.length - one.length)
  return quoted.reduce((left, text) => left.replaceAll(pattern(text), '***'), sentence)
}

function namesIn(body: unknown): ReadonlySet<unknown> {
  if (!isFields(body)) return new Set()
  const { apiVersion, kind, metadata } = body
  return new Set([apiVersion, kind, ...(isFields(metadata) ? [metadata['name'], metadata['namespace']] : [])])
}

function* textsIn(value: unknown, names: ReadonlySet<unknown>): Generator<string> {
  if (typeof value === 'string') yield* textsOf(value, names)
  else if (typeof value === 'number' || typeof value === 'bigint') yield* textsOf(String(value), names)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, field] of Object.entries(value)) if (key !== 'labels') yield* textsIn(field, names)
  }
}

// The whole text, each of its lines, and the decoded base64 of a Secret.
function* textsOf(value: string, names: ReadonlySet<unknown>): Generator<string> {
  const decoded = /^[\w+/]{4,}={0,2}$/.test(value) ? [Buffer.from(value, 'base64').toString()] : []
  for (const text of [value, ...value.split('\n'), ...decoded].map((one) => one.trim()))
    if (text.length >= SHORTEST && !names.has(text)) yield text
}

function pattern(text: string): RegExp {
  const literal = text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(text.length >= LONG ? literal : `(?<!\\w)${literal}(?!\\w)`, 'g')
}

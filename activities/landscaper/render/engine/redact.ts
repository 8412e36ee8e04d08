// Redacts values in error messages of templates. It does not search for secrets, which a template may have encoded or cut. Instead it shows a word
// only if the blueprint's author wrote it, or if a message's word belongs to the vocabulary of the template engines.
//
//   R1. A word that is neither in the blueprint nor in the vocabulary is replaced.
//   R2. Redaction keeps all line breaks, so line numbers stay correct. (`shorten` then cuts the middle of a long message.)

import { gzipSync } from 'node:zlib'
import { displayText, type FileContent } from '../file-content.ts'

const HIDDEN = '***'
const PUNCTUATION = new Set('"\'`,:;.()[]{}<>*=|@-')
const NOT_IN_NAMES = /[^\w-]+/
/** Line numbers and counts. */
const SHORT_NUMBER = /^\d{1,3}$/
const PATH = /^[\w-]+(?:\.\[\d+\]|\.[\w-]+)+$/
const SHOWN_HEAD = 600
const SHOWN_TAIL = 1200
/** Longer dumps are compressed, as Landscaper does. */
const PLAIN_DUMP_BYTES = 512
const COMPRESSED_DUMP_BYTES = 4096
const MAX_SHAPE_DEPTH = 40

/** The texts of a blueprint whose words may appear in messages. */
export interface BlueprintText {
  readonly name: string
  readonly template: FileContent
  readonly files: Readonly<Record<string, FileContent>>
}

/** Rendered text in which each word that is not in the blueprint is hidden. */
export function redactOutput(text: string, source: BlueprintText): string {
  const known = wordsOf(source)
  return hide(text, (word) => known.has(word))
}

/**
 * Hides each word of a template engine's message that is neither in the blueprint nor in the vocabulary (R1). The prefix,
 * `template: NAME:LINE:COLUMN: executing "NAME" at <ACTION>: `, is text of the blueprint and stays.
 */
export function redactMessage(message: string, source: BlueprintText): string {
  const known = wordsOf(source)
  const names = new Set([source.name, ...Object.keys(source.files)])
  const head = /^template: [^\n]*?:\d+(?::\d+)?: (?:executing "[^"\n]*" at <[^\n]*?>: )?/.exec(message)?.[0] ?? ''
  const isShownWord = (word: string) =>
    known.has(word) ||
    VOCABULARY.has(word.toLowerCase()) ||
    SHORT_NUMBER.test(word) ||
    isPosition(word, names) ||
    isPathOf(word, known)
  return shorten(head + hide(message.slice(head.length), isShownWord))
}

/** Cuts the middle of a long message. Nested includes repeat parts of it; the beginning names the caller and the end names the cause. */
export function shorten(message: string): string {
  if (message.length <= SHOWN_HEAD + SHOWN_TAIL) return message
  return `${message.slice(0, SHOWN_HEAD)} ... ${message.slice(-SHOWN_TAIL)}`
}

/**
 * The shape of a template's input: each value is replaced by its type. A long dump is gzipped and base64-encoded, and left out if it is too long even
 * then.
 */
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
  const shown = text.replace(/\S+/g, (word) => (isShown(word) || isShown(trimPunctuation(word)) ? word : HIDDEN))
  return shown.replace(/\*\*\*(?:[ \t]+\*\*\*)+/g, HIDDEN)
}

/** `NAME:LINE:COLUMN` with the name of a file of the blueprint. */
function isPosition(word: string, names: ReadonlySet<string>): boolean {
  const found = /^(.+?):\d+(?::\d+)?:?$/.exec(word)
  return found?.[1] !== undefined && names.has(found[1])
}

/** A path of Spiff such as `deployItems.[0].name`, if it consists of the author's words. */
function isPathOf(word: string, known: ReadonlySet<string>): boolean {
  if (!PATH.test(word)) return false
  const parts = word.split(/[.[\]]+/).filter((part) => part !== '')
  return parts.every((part) => known.has(part) || SHORT_NUMBER.test(part))
}

// Without a regular expression, which takes quadratic time for texts such as ((((( or {{{{{.
function trimPunctuation(word: string): string {
  let [start, end] = [0, word.length]
  while (start < end && PUNCTUATION.has(word.charAt(start))) start++
  while (end > start && PUNCTUATION.has(word.charAt(end - 1))) end--
  return word.slice(start, end)
}

/** The text around the template actions, `{{ ... }}`: `a{{ .b }}c` becomes `a c`. */
function withoutActions(text: string): string {
  const parts: string[] = []
  let at = 0
  for (let open = text.indexOf('{{'); open !== -1; open = text.indexOf('{{', at)) {
    const close = text.indexOf('}}', open)
    if (close === -1) break
    parts.push(text.slice(at, open))
    at = close + 2
  }
  return [...parts, text.slice(at)].join(' ')
}

// The words of a blueprint, split twice: with its template actions, because error messages quote them, and without, because `a{{ .b }}` renders a word
// that starts with `a`. The empty word shows words that consist of punctuation only.
function wordsOf(source: BlueprintText): ReadonlySet<string> {
  const texts = [source.name, ...[source.template, ...Object.entries(source.files).flat()].map(displayText)]
  const words = [...texts, ...texts.map(withoutActions)].flatMap((text) => text.split(/\s+/))
  return new Set(['', ...words, ...words.flatMap((word) => [trimPunctuation(word), ...word.split(NOT_IN_NAMES)])])
}

// The words of error messages of Go, text/template, sprig and Spiff. A message hides a word that is missing here, unless the blueprint contains it (R1).

const LANGUAGE = `
a about add after all already an and any argument arguments array as at bad be block blueprint before between bool bytes call called calling
can't cannot cannot: chain character characters command comparable compare comparison contain contains convert converting could
data date decimal decode decoding deeper denominator depth did directory division does dot duplicate duration element elements
empty encode end entry eof evaluate evaluating exceed error errors exceeded executing execution exist expected expects field fields file find first float float64
for format found from func further got function has have hex if illegal in include incompatible incomplete index input int int64 uint8 integer interface
interface{} into invalid invoke invoked is it iterate iterated item items json key keys known large last least length less limit line list
literal looking lookup malformed map match maximum may mapping method minimum missing more must name named negative nested
nil no non-function non-pointer not nothing null number object of on one only operand operator or out output over parameter parse
parsing pattern pointer point position prefix range reached recursion reflect reference regexp regular relative repeat repository required
result return returned returns runtime second should single size slice slice: small source start state strconv string strings struct syntax tag
template text than that the there third time timestamp to token too true type types unable unclosed undefined unexpected unknown unmarshal
unset unsupported until untyped use used value values variable version want wanted was when which while with without wrong yaml zero
component components descriptor identity installation pair pairs references resource resources spec.componentdescriptor
another are by this utf-8 b64enc e.g kubeconfig kubeconfigs issued template target targets imported expirationseconds namespace issuerurl clientid whole yet
cd://componentreferences/name/resources/name cd://resources/name resources/name
atoi parseint parsefloat parsebool strconv.atoi strconv.parseint strconv.parsefloat strconv.parsebool base32 base64
map[string]interface map[string]any map[string]interface{} []interface []interface{} []any [] did{} yaml: json: reflect: error: semantic
`

const SPIFF = `
accepts addition address allowed alphabetic alias anchor area assignment available base body boolean builtin but catch cidr cannot
collection component concatenated condition content context control create currying cycle defined digit divisor document dynamic effective either
empty entries environment environment: equal escaped eval evaluated evaluation exactly exec execution exceeds expansion expecting expression extremely fail
failed flow foreign format fourth getting given greater handle handled have incorrect indentation indicator indices insert integers intersect
intrinsic ip join lambda larger leading list_to_map lookup marshalling max merge merging mismatch mixed mkdir mode multi multiple
multiplication near network next no node nodes nodes: non-empty numeric octet operations option optional os pair path permissions pipe
positive possible process projection quoted rand range ranges read reading refusing repetition replace reported require requires resolution
resolve rune scalar scanning sequence set setting single sort space spiff split stream stub subnet substitution substr substraction
sum supported surrogate symbol sync tag target tempfile temporary templates timeout trailing trim two unicode uniq unresolved unsigned
validate validation validator violate where whitespace write
'float'( 'string'( 'int'( 'map'( 'list'( 'bool'( 'float' 'int' 'map' 'list' 'bool' 'template'
`

/** All words are in lower case. */
export const VOCABULARY: ReadonlySet<string> = new Set(`${LANGUAGE} ${SPIFF}`.split(/\s+/))

// The formats of JSON schemas that are checked, as tolerant as Landscaper's validator. Other formats accept any text. Source: spec/landscaper.md
// 3.11; format_checkers.go of xeipuuv/gojsonschema v1.2.0.

import formats from 'ajv-formats'
import type { Ajv } from 'ajv'

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
/** As Go parses times: no leap seconds, an upper-case Z, and the hour may have one digit. */
const TIME = /^(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[+-](?:[01]\d|2[0-4]):(?:[0-5]\d|60))?$/
const ZONE = /(?:Z|[+-]\d\d:\d\d)$/
const HOSTNAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i
const MAX_HOSTNAME = 255
const ATOM = "[\\w!#$%&'*+/=?^`{|}~\\u0080-\\uffff-]+"
const ADDRESS = `(?:${ATOM}(?:\\.${ATOM})*|"(?:[^"\\\\]|\\\\.)*")[ \\t]*@[ \\t]*${ATOM}(?:\\.${ATOM})*`
/** The part after the @ needs no dot, and a display name may precede the address. */
const EMAIL = new RegExp(`^(?:[ \\t]*${ADDRESS}|[^<>]*<${ADDRESS}>)[ \\t]*$`)
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const CONTROL = /[\u0000-\u001f\u007f]/
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i
const AUTHORITY = /^(?:[^@\s]*@)?(?:\[[^\s\]]*\](?::\d*)?|[^\s:^`{|}]*|[^\s^`{|}]*:\d*)$/
const STANDARD_TEMPLATE = formats.default.get('uri-template')
const TEMPLATE_PATH = /^[^{]*(?:\{[^}]*\}[^{]*)*$/

/** Adds these formats to `ajv`, and no others. */
export function addFormats(ajv: Ajv): void {
  formats.default(ajv, ['ipv6', 'uuid', 'json-pointer', 'relative-json-pointer'])
  for (const [name, isValid] of Object.entries(FORMATS)) ajv.addFormat(name, isValid)
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: (text) => TIME.test(text),
  'date-time': isDateTime,
  hostname: (text) => HOSTNAME.test(text) && text.length <= MAX_HOSTNAME,
  email: (text) => EMAIL.test(text),
  'idn-email': (text) => EMAIL.test(text),
  ipv4: (text) => IPV4.test(text),
  uri: isUri,
  'uri-reference': isReference,
  iri: isUri,
  'iri-reference': isReference,
  'uri-template': isTemplate,
  regex: isPattern,
}

function isDate(text: string): boolean {
  const [year, month, day] = (DATE.exec(text) ?? []).slice(1).map(Number)
  if (year === undefined || month === undefined || day === undefined || day === 0) return false
  // The constructor of Date adds 1900 to years below 100.
  const found = new Date(0)
  found.setUTCFullYear(year, month - 1, day)
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === day
}

/** A date or a time alone is accepted, too. */
function isDateTime(text: string): boolean {
  if (isDate(text) || TIME.test(text)) return true
  const at = text.indexOf('T')
  const time = text.slice(at + 1)
  return at !== -1 && isDate(text.slice(0, at)) && TIME.test(time) && ZONE.test(time)
}

function isUri(text: string): boolean {
  return SCHEME.test(text) && isReference(text)
}

/** Paths may contain blanks, and all parts may contain characters beyond ASCII. */
function isReference(text: string): boolean {
  if (text.includes('\\') || CONTROL.test(text.split('#')[0] ?? '')) return false
  const { scheme, authority, path, fragment } = partsOf(text)
  if (scheme === '' && authority === undefined && (path.split('/')[0] ?? '').includes(':')) return false
  return AUTHORITY.test(authority ?? '') && ![path, fragment].some((part) => BROKEN_ESCAPE.test(part))
}

/** Standard templates such as `{?a}` are accepted, too. */
function isTemplate(text: string): boolean {
  return (
    (STANDARD_TEMPLATE instanceof RegExp && STANDARD_TEMPLATE.test(text)) ||
    (isReference(text) && TEMPLATE_PATH.test(partsOf(text).path))
  )
}

/** A text with a scheme and without a slash, such as `urn:a`, has no path and is not checked further. */
function partsOf(text: string) {
  const [whole = '', ...fragments] = text.split('#')
  const scheme = SCHEME.exec(whole)?.[0] ?? ''
  const [rest = ''] = whole.slice(scheme.length).split('?')
  const authority = rest.startsWith('//') ? (rest.slice(2).split('/')[0] ?? '') : undefined
  const hasPath = scheme === '' || rest.startsWith('/')
  const path = hasPath ? rest.slice(authority === undefined ? 0 : 2 + authority.length) : ''
  return { scheme, authority, path, fragment: fragments.join('#') }
}

function isPattern(text: string): boolean {
  try {
    readPattern(text)
    return true
  } catch {
    return false
  }
}

// Translates patterns of schemas from Go's syntax of regular expressions to JavaScript's, as far as that is simple. Source: spec/landscaper.md 3.11
// (Landscaper's validator), https://pkg.go.dev/regexp/syntax.

const CLASSES: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  digit: '0-9',
  lower: 'a-z',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}
const ANCHORS: Readonly<Record<string, string>> = { A: '^', z: '$' }

/** @throws SyntaxError for an invalid pattern. */
export function readPattern(pattern: string): RegExp {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)([\s\S]*)$/.exec(pattern) ?? []
  const text = rest
    .replace(/\\([\s\S])/g, (whole, escaped: string) => ANCHORS[escaped] ?? whole)
    .replace(
      /\[:([a-z]+):\]/g,
      (whole, name: string) => (Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined) ?? whole,
    )
    .replace(/\(\?P</g, '(?<')
  try {
    return new RegExp(text, `u${flags}`)
  } catch (error) {
    // Escapes such as \- or \_ are only valid in the older syntax.
    if (error instanceof SyntaxError) return new RegExp(text, flags)
    throw error
  }
}

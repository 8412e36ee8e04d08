// The values of `format` in JSON schemas that mean something, as the original's validator reads them, which is more tolerant than their standards.
// All others mean nothing. Source: spec/landscaper.md 3.11; what xeipuuv/gojsonschema v1.2.0, format_checkers.go, accepts.

import type { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { readPattern } from './schema-pattern.ts'

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
/** As Go reads it: without leap seconds, with Z in upper case, and the hour may be of one digit. */
const TIME = /^(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[+-](?:[01]\d|2[0-4]):(?:[0-5]\d|60))?$/
const ZONE = /(?:Z|[+-]\d\d:\d\d)$/
const HOSTNAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i
const MOST_HOSTNAME = 255
const ATOM = "[\\w!#$%&'*+/=?^`{|}~\\u0080-\\uffff-]+"
const ADDRESS = `(?:${ATOM}(?:\\.${ATOM})*|"(?:[^"\\\\]|\\\\.)*")[ \\t]*@[ \\t]*${ATOM}(?:\\.${ATOM})*`
/** Also one without a dot after the @, and one with a name before it. */
const EMAIL = new RegExp(`^(?:[ \\t]*${ADDRESS}|[^<>]*<${ADDRESS}>)[ \\t]*$`)
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const CONTROL = /[\u0000-\u001f\u007f]/
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i
const AUTHORITY = /^(?:[^@\s]*@)?(?:\[[^\s\]]*\](?::\d*)?|[^\s:^`{|}]*|[^\s^`{|}]*:\d*)$/
const STANDARD_TEMPLATE = formats.default.get('uri-template')
const TEMPLATE_PATH = /^[^{]*(?:\{[^}]*\}[^{]*)*$/

/** Lets `ajv` know these formats, and no others. */
export function addFormats(ajv: Ajv): void {
  formats.default(ajv, ['ipv6', 'uuid', 'json-pointer', 'relative-json-pointer'])
  for (const [name, isValid] of Object.entries(FORMATS)) ajv.addFormat(name, isValid)
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: (text) => TIME.test(text),
  'date-time': isDateTime,
  hostname: (text) => HOSTNAME.test(text) && text.length <= MOST_HOSTNAME,
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
  // Of years below 100, Date thinks as of 1900.
  const found = new Date(0)
  found.setUTCFullYear(year, month - 1, day)
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === day
}

/** Also a date or a time alone. */
function isDateTime(text: string): boolean {
  if (isDate(text) || TIME.test(text)) return true
  const at = text.indexOf('T')
  const time = text.slice(at + 1)
  return at !== -1 && isDate(text.slice(0, at)) && TIME.test(time) && ZONE.test(time)
}

function isUri(text: string): boolean {
  return SCHEME.test(text) && isReference(text)
}

/** Blanks may be in a path, and what is beyond ASCII everywhere. */
function isReference(text: string): boolean {
  if (text.includes('\\') || CONTROL.test(text.split('#')[0] ?? '')) return false
  const { scheme, authority, path, fragment } = partsOf(text)
  if (scheme === '' && authority === undefined && (path.split('/')[0] ?? '').includes(':')) return false
  return AUTHORITY.test(authority ?? '') && ![path, fragment].some((part) => BROKEN_ESCAPE.test(part))
}

/** Also what only the standard has, such as `{?a}`. */
function isTemplate(text: string): boolean {
  return (
    (STANDARD_TEMPLATE instanceof RegExp && STANDARD_TEMPLATE.test(text)) ||
    (isReference(text) && TEMPLATE_PATH.test(partsOf(text).path))
  )
}

/** What has a scheme and no slash, such as `urn:a`, has no path, and is not looked at. */
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

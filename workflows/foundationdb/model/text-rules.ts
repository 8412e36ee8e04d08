// Rules about texts that become arguments of programs, lines of configurations, or parts of commands. They read unvalidated
// input and never throw.
//
//   T1. No accepted text contains a line break or another control character.
//   T2. No accepted text begins with `-`, so none becomes an option.

import { fieldsOf, type JsonFields, type Problem, textOf, writeJson } from '../../kit/index.ts'
import { parseAddress } from '../database/process-address.ts'
import { parseConnectionString } from '../database/connection-string.ts'
import { isAtLeast, OLDEST_VERSION, parseVersion } from './version.ts'

/** The form of a text, and its description for users. */
export interface TextForm {
  readonly accepts: (text: string) => boolean
  readonly expected: string
}

const form = (pattern: RegExp, expected: string): TextForm => ({ accepts: (text) => pattern.test(text), expected })

/** Also part of a shell command: no blank, quote or `$`. */
export const WORD = form(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'letters, digits, "_", "." and "-", not "-" first')
export const VARIABLE = form(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, such as FDB_RACK')
export const DNS_NAME = form(
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'a DNS name in lower case, such as cluster.local',
)
export const LINE = form(/^[^\p{Cc}\u2028\u2029]*$/u, 'a text in one line')
export const FIELD_OR_VARIABLE = form(
  /^(\$[A-Za-z_][A-Za-z0-9_]*|(metadata|spec|status)\.[A-Za-z0-9_.[\]'/-]+)$/,
  'a field of a Pod such as spec.nodeName, or an environment variable such as $RACK',
)
export const LOCALITY = form(/^([A-Za-z0-9_]+:[A-Za-z0-9_.-]+|0)$/, 'a locality such as zoneid:a, or 0')
export const IMAGE_NAME = form(
  /^[A-Za-z0-9][A-Za-z0-9._/:-]*$/,
  'an image without a tag, such as foundationdb/foundationdb',
)
export const TAG_PART = form(/^[A-Za-z0-9_.-]+$/, 'letters, digits, "_", "." and "-"')
export const LABEL_KEY = form(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
  'the key of a label, such as example.com/name',
)
export const LABEL_VALUE = form(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/, 'the value of a label')
export const ADDRESS: TextForm = {
  accepts: (text) => parseAddress(text)?.port !== undefined,
  expected: 'an address with a port, such as 10.0.0.1:4501 or [::1]:4500:tls',
}

const MAX_VALUE_LENGTH = 80

/** A value as messages show it. */
export function formatValue(value: unknown): string {
  const text = value === undefined ? 'nothing' : writeJson(value)
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`
}

/** The problem of an optional text; an empty text counts as absent. */
export function textProblems(value: unknown, field: string, { accepts, expected }: TextForm): readonly Problem[] {
  if (value === undefined || value === null || value === '') return []
  const isValid = typeof value === 'string' && LINE.accepts(value) && accepts(value)
  return isValid ? [] : [{ field, found: formatValue(value), expected }]
}

/** The problems of optional texts of an object. */
export function textFieldProblems(
  object: unknown,
  at: string,
  forms: Readonly<Record<string, TextForm>>,
): readonly Problem[] {
  const fields = fieldsOf(object)
  return Object.entries(forms).flatMap(([name, one]) => textProblems(fields[name], `${at}.${name}`, one))
}

/** The problems of the texts of a list. */
export function textListProblems(value: unknown, at: string, one: TextForm): readonly Problem[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  return list.flatMap((text, index) => textProblems(text, `${at}[${index}]`, one))
}

/** The problems of a map of labels. */
export function labelProblems(value: unknown, at: string): readonly Problem[] {
  return Object.entries(fieldsOf(value)).flatMap(([key, text]) => [
    ...textProblems(key, at, LABEL_KEY),
    ...textProblems(text, `${at}[${key}]`, LABEL_VALUE),
  ])
}

export function connectionStringProblems(value: unknown, field: string): readonly Problem[] {
  if (typeof value !== 'string' || value === '') return []
  try {
    parseConnectionString(value)
    return []
  } catch {
    return [{ field, found: formatValue(value), expected: 'a connection string such as name:id@10.0.0.1:4501' }]
  }
}

/** The problem of an object that names a namespace: all objects of a cluster are in its namespace. */
export function namespaceProblems(object: JsonFields, at: string): readonly Problem[] {
  const { namespace } = object
  if (namespace === undefined || namespace === null || namespace === '') return []
  return [{ field: `${at}.namespace`, found: formatValue(namespace), expected: 'no namespace' }]
}

/** Pawl knows the formats and commands of these versions. */
export function versionProblems(value: unknown, field: string): readonly Problem[] {
  const version = textOf(value)
  if (parseVersion(version) !== undefined && isAtLeast(version, OLDEST_VERSION)) return []
  return [{ field, found: formatValue(value), expected: `a version such as 7.1.26, at least ${OLDEST_VERSION}` }]
}

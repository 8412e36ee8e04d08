// Parses `--set`, with the syntax of Helm: `a.b=c`, several assignments separated by commas, `a[0].b=c`, `a={x,y}`, and
// a backslash before a character that is part of a name or a value.
//
//   S1. A value is true, false, null, a whole number without leading zeros, or a text. A list in braces has such values.
//   S2. `a={}` is an empty list, as in `wings={}`. Helm reads a list with one empty text.

import { UsageError } from '../../server/usage-error.ts'

export type Step = string | number

export interface Assignment {
  readonly path: readonly Step[]
  readonly value: unknown
}

/** A text up to an unescaped character of `ends`. */
interface Token {
  readonly text: string
  /** The index of the character that ended it. */
  readonly end: number
}

/** @throws UsageError that quotes the flag and says what it lacks. */
export function parseAssignments(flag: string): readonly Assignment[] {
  const assignments: Assignment[] = []
  for (let at = 0; at < flag.length;) {
    const { path, end } = parsePath(flag, at)
    const { value, end: next } = flag[end + 1] === '{' ? parseList(flag, end + 2) : parseScalar(flag, end + 1)
    assignments.push({ path, value })
    at = next + 1
  }
  if (assignments.length === 0) throw invalid(flag, 'the assignment is empty')
  return assignments
}

function parsePath(flag: string, start: number): { readonly path: readonly Step[]; readonly end: number } {
  const path: Step[] = []
  for (let at = start; ;) {
    const { text, end } = readToken(flag, at, '.[=,')
    if (text !== '') path.push(text)
    else if (flag[at - 1] !== ']') throw invalid(flag, 'a name is empty')
    if (flag[end] === '=') return { path, end }
    if (flag[end] === undefined || flag[end] === ',') throw invalid(flag, `"${text}" has no value`)
    at = end + 1
    if (flag[end] === '[') {
      const index = readToken(flag, at, ']')
      if (!/^\d{1,4}$/.test(index.text)) throw invalid(flag, `"[${index.text}]" is not the index of an item`)
      path.push(Number(index.text))
      at = index.end + 1
      if (flag[at] === '.') at++
      if (flag[at] === '=') return { path, end: at }
    }
  }
}

function parseScalar(flag: string, start: number): { readonly value: unknown; readonly end: number } {
  const { text, end } = readToken(flag, start, ',')
  return { value: typed(text), end }
}

function parseList(flag: string, start: number): { readonly value: unknown; readonly end: number } {
  const items: unknown[] = []
  for (let at = start; ;) {
    const { text, end } = readToken(flag, at, ',}')
    if (flag[end] === undefined) throw invalid(flag, 'a list has no closing brace')
    if (text !== '' || flag[end] === ',' || items.length > 0) items.push(typed(text))
    at = end + 1
    if (flag[end] === ',') continue
    if (flag[at] !== undefined && flag[at] !== ',') throw invalid(flag, 'a list is followed by more text')
    return { value: items, end: at }
  }
}

function readToken(flag: string, start: number, ends: string): Token {
  let text = ''
  for (let at = start; ; at++) {
    const char = flag[at]
    if (char === undefined || ends.includes(char)) return { text, end: at }
    text += char === '\\' ? (flag[++at] ?? '') : char
  }
}

function typed(text: string): unknown {
  switch (text) {
    case 'true':
    case 'false':
      return text === 'true'
    case 'null':
      return null
    default:
      return /^(?:0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text
  }
}

function invalid(flag: string, problem: string): UsageError {
  // Without the value, which may be a password.
  const shown = flag.replace(/=.*$/s, '=...')
  return new UsageError(`--set ${shown}: ${problem}; expected key=value, such as worker.replicas=3`)
}

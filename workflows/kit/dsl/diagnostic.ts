// Diagnostics of a document, as data and as text for users: file:line:column, a code, and the line with a caret. Source: spec/kit.md 8 "Diagnostics";
// docs/reference/controller-language.md explains the codes (a test compares).

import { nearest } from '../kind/near-words.ts'

/** A range of a document. */
export interface Span {
  /** UTF-16 units from the start of the text. */
  readonly offset: number
  /** From 1. */
  readonly line: number
  /** UTF-16 units from the start of the line, from 1. */
  readonly column: number
  /** UTF-16 units; 0 at the end of a line or of the file. */
  readonly length: number
}

/** Every code with its meaning. Stable: a number is never reused. */
export const CODES = {
  CM001: 'a quoted string is not closed, or has an unknown escape',
  CM002: 'a reference is not closed',
  CM003: 'unexpected token',
  CM004: 'a block is not closed',
  CM005: 'a closing brace without an opening brace',
  CM006: 'unknown statement',
  CM010: 'a name is malformed',
  CM011: 'a name is reserved by the language or used by generated code',
  CM012: 'two names are equal in generated code',
  CM020: 'a repeated name, selector or field',
  CM021: 'a group and version, or a kind in it, is malformed',
  CM022: 'a group and version is not bound',
  CM023: 'a bound module is not a TypeScript module',
  CM024: 'no alias has the name of this kind',
  CM025: 'an action has an unknown state as argument',
  CM026: 'no such mode',
  CM030: 'no such selector',
  CM031: 'a selector has no value',
  CM032: 'a selector takes no value',
  CM035: 'a single object has no selector',
  CM036: 'a label key or value is invalid',
  CM037: 'the mode does not support the query',
  CM040: 'a reference is not to the target',
  CM041: 'the target has no such field',
  CM042: 'a field of the target is not a string',
  CM043: 'the API server does not support the field selector',
  CM044: 'the kind is cluster-scoped',
  CM045: 'a field path is malformed, or leads to a field of another type',
  CM046: 'the kind has no such field to pick',
  CM050: 'the state is not the argument of an action',
  CM051: 'the fields of the kind are unknown, so the field selector is not checked',
  CM052: 'a declaration has no action',
  CM053: 'the fields of the target are unknown, so the field is not checked',
} as const

export type Code = keyof typeof CODES

export type Severity = 'error' | 'warning'

const WARNINGS: ReadonlySet<Code> = new Set(['CM050', 'CM051', 'CM052', 'CM053'])

export interface Diagnostic {
  readonly code: Code
  readonly severity: Severity
  /** Lower-case: found and expected. */
  readonly message: string
  readonly at: Span
}

/** Collects diagnostics; never throws. */
export type Report = (code: Code, at: Span, message: string) => void

/** A report function, and the list that it fills. */
export function collector(): { readonly report: Report; readonly diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const known = new Set<string>()
  const report: Report = (code, at, message) => {
    // The parser and the checks may report the same mistake.
    const key = `${code} ${at.offset}`
    if (known.has(key)) return
    known.add(key)
    diagnostics.push({ code, severity: WARNINGS.has(code) ? 'warning' : 'error', message, at })
  }
  return { report, diagnostics }
}

/** In the order of the document. */
export function inOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...diagnostics].sort((a, b) => a.at.offset - b.at.offset || (a.code < b.code ? -1 : 1))
}

/** `file:line:column: error CM000: message`, the line, and carets below the range. */
export function formatDiagnostic(file: string, text: string, { code, severity, message, at }: Diagnostic): string {
  const { line, caret } = excerpt(text, at)
  return `${file}:${at.line}:${at.column}: ${severity} ${code}: ${message}\n  ${line}\n  ${caret}`
}

/** A part of a document in a message: in one line, cut, without control characters. */
export function quote(text: string): string {
  const plain = harmless(text)
  return `'${plain.length > LONGEST_QUOTE ? `${plain.slice(0, LONGEST_QUOTE)}...` : plain}'`
}

const LONGEST_QUOTE = 60
const LONGEST_LINE = 160

// A long line is cut around the range.
function excerpt(text: string, at: Span): { readonly line: string; readonly caret: string } {
  const start = at.offset - at.column + 1
  const rest = text.slice(start)
  const whole = rest.slice(0, rest.search(/[\r\n]|$/))
  const from = at.column > LONGEST_LINE - 20 ? at.column - LONGEST_LINE / 2 : 0
  const line = whole.slice(from, from + LONGEST_LINE)
  const before = line.slice(0, at.column - 1 - from)
  const width = Math.max(1, Math.min(at.length, line.length - before.length))
  return { line: harmless(line), caret: before.replace(/[^\t]/g, ' ') + '^'.repeat(width) }
}

// Control characters could change a terminal's cursor or colours.
function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** `; did you mean 'x'?`, or an empty text without a similar word. */
export function didYouMean(found: string, known: readonly string[]): string {
  const meant = nearest(found, known)
  return meant === undefined ? '' : `; did you mean '${meant}'?`
}

/** `a, b or c` for "expected one of". */
export function alternatives(words: readonly string[]): string {
  const [last, ...others] = [...words].reverse()
  if (last === undefined) return 'nothing'
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`
}

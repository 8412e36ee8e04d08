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
  CM001: 'a quoted text without end on its line, or with an escape other than `\\"` and `\\\\`',
  CM002: '`${` without `}` before the next blank',
  CM003: 'unexpected text; the message has the text found and the text expected',
  CM004:
    'a block without closing brace; the message shows its opening brace, found by the indentation where braces are ambiguous',
  CM005: 'one closing brace too many, or a block that ends too early',
  CM006: 'unknown word at the beginning of a statement or section; the message lists the words',
  CM010: 'a name longer than 63, or with characters other than letters, digits and `_`',
  CM011: 'TypeScript, the kit, the pass or generated code uses the name; rename it',
  CM012: 'two names are the same in generated code (`Pods`, `pods`); rename one',
  CM020: 'a duplicate bind, alias, controller, state, selector, action or parameter',
  CM021: 'malformed group and version, or kind; write `v1` or `group/version`, and `group/version/Kind`',
  CM022: "an alias of a group and version that is not Kubernetes' own; add a `bind`",
  CM023: 'a bound module is a Go package, a path without ending, or has invalid characters; name the TypeScript module',
  CM024: "a kind is neither an alias nor one of Kubernetes' own; add an `alias`",
  CM025: 'an action uses an unknown state; do not list the target',
  CM026: 'unknown mode; write `as level` or `as job`, or nothing for `level`',
  CM030: 'unknown selector; the message lists the selectors',
  CM031: 'a selector without value; the empty text is `""`',
  CM032: '`owned` or `fresh` has a value; only `owned=label` is valid',
  CM035: 'a single state without `name`, labels, fields or `owned`',
  CM036: 'an invalid label, name or namespace',
  CM037:
    'mode `job` lacks this, such as `fresh`, or objects that are not `owned`; see "Modes" of the page on the language',
  CM040: 'a reference to something other than `target`',
  CM041: 'the target has no such field; the message lists the fields',
  CM042: 'a field of the target is not text',
  CM043: 'the API server cannot select by this field; select by labels, or add it to `selectableFields` of the kind',
  CM044: '`namespace` or `namespacesFrom` on a cluster-scoped kind',
  CM045:
    'a value is not a path, or its field is not a selector; write a path such as `spec.selector`, without `target` and `${...}`',
  CM046: 'a picked field does not exist in the kind; the message lists the fields',
  CM050: 'no action uses a state; Pawl reads it all the same',
  CM051: 'the kind has no known schema, so the API server may refuse to select by this field',
  CM052: 'a declaration has no action',
  CM053: 'the target has no known schema, so its field may not exist or may not be text; give `--crd`',
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

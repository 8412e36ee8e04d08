// Cuts a document into tokens. Every text has tokens: the lexer reports invalid characters and continues.
//
//   L1. A comment begins with `//` at the start of a word, alone on its line or after something else.
//   L2. The text after `=` up to the next blank or brace is one value; a value with blanks needs quotes.
//   L3. The documentation of a token is the last unbroken run of comment lines above it; trailing comments are remarks.

import type { Template, TemplatePart } from './ast.ts'
import { quote, type Report, type Span } from './diagnostic.ts'

export type Punctuation = '{' | '}' | '(' | ')' | ',' | '=' | '[' | ']'

interface Placed {
  readonly at: Span
  /** Only blanks precede it on its line. */
  readonly first: boolean
  readonly doc: readonly string[]
}

export type Token =
  | (Placed & { readonly type: 'word'; readonly text: string })
  | (Placed & { readonly type: 'value'; readonly template: Template })
  | (Placed & { readonly type: Punctuation })
  | (Placed & { readonly type: 'end' })

const PUNCTUATION: ReadonlySet<string> = new Set(['{', '}', '(', ')', ',', '=', '[', ']'])

/** All tokens of a text; the last one is the end token. */
export function tokenize(text: string, report: Report): readonly Token[] {
  const scanner = new Scanner(text, report)
  const tokens: Token[] = []
  for (;;) {
    const token = scanner.next(tokens.at(-1)?.type === '=')
    tokens.push(token)
    if (token.type === 'end') return tokens
  }
}

class Scanner {
  readonly #text: string
  readonly #report: Report
  #offset = 0
  #line = 1
  #lineStart = 0
  #first = true
  #doc: string[] = []
  // The line after the last comment line: a comment there continues the block.
  #docGoesOn = 0

  constructor(text: string, report: Report) {
    this.#text = text
    this.#report = report
  }

  next(afterEquals: boolean): Token {
    const line = this.#line
    this.#skip()
    const doc = this.#doc
    this.#doc = []
    const first = this.#first
    this.#first = false
    const start = this.#offset
    const isValueHere = afterEquals && line === this.#line && !/[{}]/.test(this.#at(start))
    if (start >= this.#text.length) return { type: 'end', at: this.#span(start, start), first, doc }
    if (this.#at(start) === '"') return { type: 'value', template: this.#quoted(), at: this.#since(start), first, doc }
    if (isValueHere || this.#text.startsWith('${', start))
      return { type: 'value', template: this.#unquoted(), at: this.#since(start), first, doc }
    if (isPunctuation(this.#at(start))) {
      const type = this.#at(start) as Punctuation
      this.#offset++
      return { type, at: this.#since(start), first, doc }
    }
    while (isWordSign(this.#at(this.#offset))) this.#offset++
    return { type: 'word', text: this.#text.slice(start, this.#offset), at: this.#since(start), first, doc }
  }

  // Blanks, line ends and comments.
  #skip(): void {
    for (;;) {
      const sign = this.#at(this.#offset)
      if (sign === '') return
      if (sign === '\n' || sign === '\r') this.#newLine()
      else if (isBlank(sign)) this.#offset++
      else if (this.#text.startsWith('//', this.#offset)) this.#comment()
      else return
    }
  }

  #newLine(): void {
    this.#offset += this.#text.startsWith('\r\n', this.#offset) ? 2 : 1
    this.#line++
    this.#lineStart = this.#offset
    this.#first = true
  }

  #comment(): void {
    const start = this.#offset + 2
    while (!isLineEnd(this.#at(this.#offset))) this.#offset++
    if (!this.#first) return
    if (this.#docGoesOn !== this.#line) this.#doc = []
    this.#docGoesOn = this.#line + 1
    this.#doc.push(this.#text.slice(start, this.#offset).replace(/^ /, '').trimEnd())
  }

  #unquoted(): Template {
    const start = this.#offset
    const parts: TemplatePart[] = []
    for (;;) {
      const sign = this.#at(this.#offset)
      if (this.#text.startsWith('${', this.#offset)) parts.push(this.#reference(''))
      else if (isLineEnd(sign) || isBlank(sign) || sign === '{' || sign === '}') break
      else {
        addText(parts, sign)
        this.#offset++
      }
    }
    return { parts, at: this.#since(start) }
  }

  #quoted(): Template {
    const start = this.#offset++
    const parts: TemplatePart[] = []
    for (;;) {
      const sign = this.#at(this.#offset)
      if (isLineEnd(sign)) {
        this.#offset = start + 1
        const { parts: found } = this.#unquoted()
        const at = this.#since(start)
        this.#report('CM001', at, "the quoted string is not closed; expected '\"' before the end of the line")
        // As if there were no quote, so that a brace on the line counts.
        return { parts: found, at }
      }
      if (this.#text.startsWith('${', this.#offset)) parts.push(this.#reference('"'))
      else if (sign === '\\') addText(parts, this.#escape())
      else {
        this.#offset++
        if (sign === '"') break
        addText(parts, sign)
      }
    }
    return { parts, at: this.#since(start) }
  }

  #escape(): string {
    const start = this.#offset++
    const sign = this.#at(this.#offset)
    if (isLineEnd(sign)) return '\\'
    this.#offset++
    if (sign !== '"' && sign !== '\\')
      this.#report('CM001', this.#since(start), `found ${quote(`\\${sign}`)}; expected '\\"' or '\\\\'`)
    return sign
  }

  #reference(delimiter: '' | '"'): TemplatePart {
    const start = this.#offset
    this.#offset += 2
    const from = this.#offset
    for (;;) {
      const sign = this.#at(this.#offset)
      if (sign === '}') break
      if (isLineEnd(sign) || isBlank(sign) || sign === '{' || sign === delimiter) {
        this.#report('CM002', this.#since(start), `the reference is not closed: found ${describe(sign)}; expected '}'`)
        return { reference: this.#text.slice(from, this.#offset), at: this.#since(start) }
      }
      this.#offset++
    }
    const reference = this.#text.slice(from, this.#offset++)
    return { reference, at: this.#since(start) }
  }

  #at(offset: number): string {
    return this.#text.charAt(offset)
  }

  #since(start: number): Span {
    return this.#span(start, this.#offset)
  }

  #span(start: number, end: number): Span {
    return { offset: start, line: this.#line, column: start - this.#lineStart + 1, length: end - start }
  }
}

function addText(parts: TemplatePart[], text: string): void {
  const last = parts.at(-1)
  if (last !== undefined && 'text' in last) parts[parts.length - 1] = { text: last.text + text }
  else parts.push({ text })
}

function isPunctuation(sign: string): boolean {
  return PUNCTUATION.has(sign)
}

function isWordSign(sign: string): boolean {
  return sign !== '' && !isBlank(sign) && !isPunctuation(sign) && sign !== '"'
}

// Line ends are blanks too. JavaScript counts a byte order mark as blank.
function isBlank(sign: string): boolean {
  return /\s/.test(sign)
}

function isLineEnd(sign: string): boolean {
  return sign === '' || sign === '\n' || sign === '\r'
}

function describe(sign: string): string {
  if (isLineEnd(sign)) return 'the end of the line'
  return isBlank(sign) ? 'a blank' : quote(sign)
}

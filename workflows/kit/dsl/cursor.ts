// The parser's position among the tokens, with common operations. An operation that finds an unexpected token reports
// it and does not advance; the caller decides how to continue.

import type { Name } from './ast.ts'
import { quote, type Report, type Span } from './diagnostic.ts'
import type { Punctuation, Token } from './lexer.ts'

/** A token that is a word. */
export type Word = Extract<Token, { type: 'word' }>

export interface Block {
  /** The opening brace. */
  readonly open: Span
  /** Indentation of the brace's line. */
  readonly indent: number
  /** For messages: `state`, `decl CronJob`. */
  readonly what: string
}

export class Cursor {
  readonly report: Report
  readonly #tokens: readonly Token[]
  #index = 0

  constructor(tokens: readonly Token[], report: Report) {
    this.#tokens = tokens
    this.report = report
  }

  get token(): Token {
    return this.peek(0)
  }

  /** A following token; the end token follows itself. */
  peek(ahead: number): Token {
    const token = this.#tokens[Math.min(this.#index + ahead, this.#tokens.length - 1)]
    if (token === undefined) throw new Error('a document has no tokens, not even its end')
    return token
  }

  advance(): Token {
    const { token } = this
    if (this.#index < this.#tokens.length - 1) this.#index++
    return token
  }

  /** The current word; reports another token, or a word on the next line, and returns undefined. */
  word(expected: string): Name | undefined {
    const { token } = this
    if (token.type !== 'word' || token.first) {
      this.missing(expected)
      return undefined
    }
    this.advance()
    return nameOf(token)
  }

  /** The current word, or an empty one where it is missing. */
  wordOrNone(expected: string): Name {
    return this.word(expected) ?? { text: '', at: this.#lineEnd() }
  }

  take(type: Punctuation): Token | undefined {
    return this.token.type === type ? this.advance() : undefined
  }

  /** Reports an unexpected token in a statement. A missing token is reported at the end of its line. */
  missing(expected: string): void {
    if (this.token.first) this.report('CM003', this.#lineEnd(), `found the end of the line; expected ${expected}`)
    else this.strange(expected)
  }

  /** Reports a token that can start no statement. */
  strange(expected: string): void {
    this.report('CM003', this.token.at, `found ${describeToken(this.token)}; expected ${expected}`)
  }

  /** Skips to the first token of the next line, or to the closing brace of an outer block; skips nested blocks. */
  skipLine(): void {
    let depth = 0
    let moved = false
    while (this.token.type !== 'end') {
      if (depth === 0 && (this.token.type === '}' || (moved && this.token.first))) return
      if (this.token.type === '{') depth++
      if (this.token.type === '}') depth--
      this.advance()
      moved = true
    }
  }

  /** Skips to the first token of the next line, or to any brace. */
  skipToBrace(): void {
    while (!this.token.first && !['{', '}', 'end'].includes(this.token.type)) this.advance()
  }

  /** Indentation of the last consumed token's line. */
  lineIndent(): number {
    let index = this.#index - 1
    while (index > 0 && this.#tokens[index]?.first === false) index--
    return (this.#tokens[index]?.at.column ?? 1) - 1
  }

  #lineEnd(): Span {
    const { offset, line, column, length } = this.#tokens[this.#index - 1]?.at ?? this.token.at
    return { offset: offset + length, line, column: column + length, length: 0 }
  }
}

export function nameOf({ text, at }: Word): Name {
  return { text, at }
}

function describeToken(token: Token): string {
  switch (token.type) {
    case 'word':
      return quote(token.text)
    case 'value':
      return 'a value'
    case 'end':
      return 'the end of the file'
    default:
      return quote(token.type)
  }
}

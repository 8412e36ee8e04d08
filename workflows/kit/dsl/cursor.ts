// The parser's place among the tokens, and the small moves that all its parts share. A move that finds something else
// reports it and stays where it is; whoever called decides how to go on.

import type { Name } from './ast.ts'
import { quote, type Report, type Span } from './diagnostic.ts'
import type { Punctuation, Token } from './lexer.ts'

/** A token that is a word. */
export type Word = Extract<Token, { type: 'word' }>

export interface Block {
  /** The opening brace. */
  readonly open: Span
  /** How far the line of the brace is indented. */
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

  /** A token further on; the end of the document stays the end. */
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

  /** The word here; reported and undefined when something else is here, or when it stands on the next line. */
  word(expected: string): Name | undefined {
    const { token } = this
    if (token.type !== 'word' || token.first) {
      this.missing(expected)
      return undefined
    }
    this.advance()
    return nameOf(token)
  }

  /** The word here, or an empty one where it is missing. */
  wordOrNone(expected: string): Name {
    return this.word(expected) ?? { text: '', at: this.#lineEnd() }
  }

  take(type: Punctuation): Token | undefined {
    return this.token.type === type ? this.advance() : undefined
  }

  /** Something else is here than what a statement goes on with. What is missing at the end of a line is missing there. */
  missing(expected: string): void {
    if (this.token.first) this.report('CM003', this.#lineEnd(), `found the end of the line, expected ${expected}`)
    else this.strange(expected)
  }

  /** Nothing begins with what is here. */
  strange(expected: string): void {
    this.report('CM003', this.token.at, `found ${describeToken(this.token)}, expected ${expected}`)
  }

  /** Goes to the first token of the next line, or to a brace that closes what was open before; blocks on the way are skipped. */
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

  /** Goes to the first token of the next line, stopping at any brace. */
  skipToBrace(): void {
    while (!this.token.first && !['{', '}', 'end'].includes(this.token.type)) this.advance()
  }

  /** How far the line is indented on which the token stands that was taken last. */
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

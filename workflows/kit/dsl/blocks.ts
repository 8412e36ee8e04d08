// Blocks in braces, and which of them is to blame when a brace is missing.
//
//   P1. Every block that is not closed is reported once, at its opening brace.
//   P2. Braces are counted, but people indent: where a block was closed by a brace that stands further left than the block's
//       first line, that one is blamed instead of the block that came out unclosed.

import type { Block, Cursor } from './cursor.ts'
import type { Token } from './lexer.ts'

export interface BlockReader {
  /** For messages, such as `state jobs`. */
  readonly what: string
  /** Whether reading goes on as if the opening brace were here. */
  readonly goesOnWithout: () => boolean
  /** Whether something begins here that cannot stand in this block. */
  readonly isOutside: () => boolean
  readonly item: () => void
}

export class Blocks {
  readonly #cursor: Cursor
  // Blocks whose closing brace stands too far left; each can be blamed once.
  readonly #doubtful: Block[] = []

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  /** Reads a block from its opening to its closing brace. */
  read({ what, goesOnWithout, isOutside, item }: BlockReader): void {
    const cursor = this.#cursor
    const open = cursor.take('{') ?? this.#laterOpen()
    if (open === undefined && !goesOnWithout()) {
      if (!cursor.token.first) cursor.skipLine()
      return
    }
    const block: Block = { open: open?.at ?? cursor.token.at, indent: cursor.lineIndent(), what }
    while (cursor.token.type !== '}') {
      if (cursor.token.type === 'end' || isOutside()) {
        this.#unclosed(block, cursor.token)
        return
      }
      item()
    }
    const { first, at } = cursor.advance()
    if (first && at.column - 1 < block.indent) this.#doubtful.push(block)
  }

  // What stands before the brace is too much.
  #laterOpen(): Token | undefined {
    this.#cursor.missing("'{'")
    this.#cursor.skipToBrace()
    return this.#cursor.take('{')
  }

  #unclosed(block: Block, before: Token): void {
    const index = this.#doubtful.findIndex(({ open }) => open.offset > block.open.offset)
    const blamed = this.#doubtful.splice(index, index < 0 ? 0 : 1)[0] ?? block
    const where = before.type === 'end' ? 'the end of the file' : `line ${before.at.line}`
    this.#cursor.report(
      'CM004',
      blamed.open,
      `the block of '${blamed.what}' is not closed; expected '}' before ${where}`,
    )
  }
}

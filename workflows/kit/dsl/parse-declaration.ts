// Parses `decl` and its blocks, and finds the block with the missing brace.
//
//   P1. Every unclosed block is reported once, at its opening brace.
//   P2. Braces are counted, but indentation decides: if a closing brace is further left than the line of its block, that block lacks a brace.

import type { ActionDeclaration, Declaration, Name, Selector, StateDeclaration } from './ast.ts'
import { type Block, type Cursor, nameOf } from './cursor.ts'
import { alternatives, didYouMean, quote } from './diagnostic.ts'
import { MODES } from './model.ts'
import { nearest } from '../kind/near-words.ts'
import type { Token } from './lexer.ts'

const SECTIONS = ['state', 'action'] as const

/** The declaration at the keyword; empty without a name or kind. */
export function parseDeclaration(cursor: Cursor): readonly Declaration[] {
  const { doc } = cursor.advance()
  const name = cursor.word('a name for the controller')
  const target = name && parseTarget(cursor)
  const hasTarget = target !== undefined && target.text !== ''
  const mode = hasTarget ? parseMode(cursor) : undefined
  if (!hasTarget) cursor.skipToBrace()
  const members = { states: [] as StateDeclaration[], actions: [] as ActionDeclaration[] }
  const blocks = new Blocks(cursor)
  blocks.read({
    what: name === undefined ? 'decl' : `decl ${name.text}`,
    goesOnWithout: () => beginsSection(cursor) !== undefined,
    isOutside: () => beginsStatement(cursor, ['bind', 'alias', 'decl']),
    item: () => parseSection(cursor, blocks, members),
  })
  return name === undefined || target === undefined ? [] : [{ doc, name, target, mode, ...members }]
}

/** Whether a complete statement starts here that is not allowed here. */
export function beginsStatement(
  cursor: Cursor,
  keywords: readonly string[],
  { anyWord = false }: { readonly anyWord?: boolean } = {},
): boolean {
  const [keyword, one, two] = wordsHere(cursor)
  if (keyword === undefined || !cursor.token.first || !(anyWord || keywords.includes(keyword))) return false
  if (one === undefined || two === undefined) return false
  return keyword === 'decl' || anyWord ? two === 'for' : cursor.peek(3).type !== '{'
}

/** The following words on this line, at most three. */
function wordsHere(cursor: Cursor): readonly string[] {
  const words: string[] = []
  for (let ahead = 0; ahead < 3; ahead++) {
    const token = cursor.peek(ahead)
    if (token.type !== 'word' || (ahead > 0 && token.first)) break
    words.push(token.text)
  }
  return words
}

interface Members {
  readonly states: StateDeclaration[]
  readonly actions: ActionDeclaration[]
}

function parseTarget(cursor: Cursor): Name {
  const { token } = cursor
  const isFor = token.type === 'word' && !token.first && token.text === 'for'
  if (!isFor) {
    cursor.missing("'for'")
    return { text: '', at: token.at }
  }
  cursor.advance()
  return cursor.wordOrNone('the name of a kind')
}

/** `as job`, on the previous token's line; undefined without a mode. */
function parseMode(cursor: Cursor): Name | undefined {
  const { token } = cursor
  if (token.type !== 'word' || token.first || token.text !== 'as') return undefined
  cursor.advance()
  return cursor.word(`a mode (${alternatives(MODES)})`)
}

/** The section at its keyword and brace. */
function beginsSection(cursor: Cursor): (typeof SECTIONS)[number] | undefined {
  const { token } = cursor
  if (token.type !== 'word' || cursor.peek(1).type !== '{') return undefined
  return SECTIONS.find((section) => section === token.text)
}

function parseSection(cursor: Cursor, blocks: Blocks, members: Members): void {
  const { token } = cursor
  if (token.type !== 'word') {
    cursor.strange(`a section (${alternatives(SECTIONS)})`)
    cursor.skipLine()
    return
  }
  const section = SECTIONS.find((name) => name === token.text)
  if (section === undefined) {
    const expected = `expected ${alternatives(SECTIONS)}${didYouMean(token.text, SECTIONS)}`
    cursor.report('CM006', token.at, `found ${quote(token.text)}; ${expected}`)
  }
  // A misspelt keyword is accepted.
  const meant = section ?? SECTIONS.find((name) => name === nearest(token.text, SECTIONS))
  if (meant === undefined) {
    cursor.skipLine()
    return
  }
  cursor.advance()
  blocks.read({
    what: meant,
    goesOnWithout: () => false,
    isOutside: () => beginsSection(cursor) !== undefined || beginsStatement(cursor, ['bind', 'alias', 'decl']),
    item: () => {
      if (meant === 'state') members.states.push(...parseState(cursor, blocks))
      else members.actions.push(...parseAction(cursor))
    },
  })
}

/** Whether a state starts here: `name Kind {` or `name []Kind {`. */
function beginsState(cursor: Cursor): boolean {
  const isMany = cursor.peek(1).type === '[' && cursor.peek(2).type === ']'
  const kind = cursor.peek(isMany ? 3 : 1)
  return cursor.token.type === 'word' && kind.type === 'word' && !kind.first && cursor.peek(isMany ? 4 : 2).type === '{'
}

function parseState(cursor: Cursor, blocks: Blocks): readonly StateDeclaration[] {
  const { token } = cursor
  if (token.type !== 'word') {
    cursor.strange('the name of a state')
    cursor.skipLine()
    return []
  }
  const name = nameOf(token)
  cursor.advance()
  const many = cursor.take('[') !== undefined
  if (many && cursor.take(']') === undefined) cursor.missing("']'")
  const kind = cursor.wordOrNone(many ? 'a kind' : "a kind, or '[]' and a kind,")
  if (kind.text === '') {
    if (cursor.token.type === '(') {
      cursor.skipLine()
      return []
    }
    cursor.skipToBrace()
  }
  const selectors: Selector[] = []
  blocks.read({
    what: `state ${name.text}`,
    goesOnWithout: () => false,
    isOutside: () =>
      beginsSection(cursor) !== undefined || beginsState(cursor) || beginsStatement(cursor, ['bind', 'alias', 'decl']),
    item: () => selectors.push(...parseSelector(cursor)),
  })
  return [{ doc: token.doc, name, many, kind, selectors }]
}

function parseSelector(cursor: Cursor): readonly Selector[] {
  const { token } = cursor
  if (token.type !== 'word') {
    cursor.strange('a selector')
    cursor.skipLine()
    return []
  }
  const key = nameOf(token)
  cursor.advance()
  if (cursor.token.first || cursor.take('=') === undefined) return [{ key, value: undefined }]
  const value = cursor.token
  if (value.type === 'value' && !value.first) {
    cursor.advance()
    return [{ key, value: value.template }]
  }
  cursor.report(
    'CM031',
    key.at,
    `${quote(key.text)} has no value; expected a value after '=' (write "" for an empty value)`,
  )
  return [{ key, value: undefined }]
}

function parseAction(cursor: Cursor): readonly ActionDeclaration[] {
  const { token } = cursor
  if (token.type !== 'word') {
    cursor.strange('an action, such as CleanUp(jobs)')
    cursor.skipLine()
    return []
  }
  cursor.advance()
  if (cursor.token.first || cursor.take('(') === undefined) {
    cursor.missing("'(' and the states that the action needs")
    if (!cursor.token.first) cursor.skipLine()
    return [{ doc: token.doc, name: nameOf(token), states: [] }]
  }
  return [{ doc: token.doc, name: nameOf(token), states: parseStates(cursor) }]
}

function parseStates(cursor: Cursor): readonly Name[] {
  const states: Name[] = []
  if (cursor.take(')') !== undefined) return states
  for (;;) {
    const { token } = cursor
    if (token.type === 'word') {
      states.push(nameOf(token))
      cursor.advance()
    } else cursor.strange('the name of a state')
    if (cursor.take(')') !== undefined) return states
    if (cursor.take(',') === undefined) {
      if (token.type === 'word') cursor.missing("',' or ')'")
      if (!cursor.token.first) cursor.skipLine()
      return states
    }
  }
}

export interface BlockReader {
  /** For messages, such as `state jobs`. */
  readonly what: string
  /** Whether parsing continues as if the opening brace were present. */
  readonly goesOnWithout: () => boolean
  /** Whether a token starts here that cannot be inside of this block. */
  readonly isOutside: () => boolean
  readonly item: () => void
}

export class Blocks {
  readonly #cursor: Cursor
  // Blocks with a closing brace that is too far left; each is reported once.
  readonly #doubtful: Block[] = []

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  /** Parses a block from its opening to its closing brace. */
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

  // Tokens before the brace are unexpected.
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

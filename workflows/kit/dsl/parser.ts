// Parses a document by recursive descent. After a mistake it continues with the next line, section or statement, so that a run reports all
// mistakes.
// Source: spec/kit.md 8 "DSL: same language, real tokens".

import type { Alias, Bind, Declaration, Document, Name } from './ast.ts'
import { Cursor, type Word } from './cursor.ts'
import { alternatives, didYouMean, quote, type Report } from './diagnostic.ts'
import { tokenize } from './lexer.ts'
import { beginsStatement, parseDeclaration } from './parse-declaration.ts'
import { nearest } from '../kind/near-words.ts'

const STATEMENTS = ['bind', 'alias', 'decl'] as const

/** The syntax tree of the text; mistakes go to `report`. */
export function parse(text: string, report: Report): Document {
  const cursor = new Cursor(tokenize(text, report), report)
  const found = { binds: [] as Bind[], aliases: [] as Alias[], declarations: [] as Declaration[] }
  while (cursor.token.type !== 'end') parseStatement(cursor, found)
  return found
}

interface Found {
  readonly binds: Bind[]
  readonly aliases: Alias[]
  readonly declarations: Declaration[]
}

function parseStatement(cursor: Cursor, found: Found): void {
  const { token } = cursor
  if (token.type === '}') {
    cursor.report('CM005', token.at, "found '}', but no block is open")
    cursor.advance()
  } else if (token.type === 'word' && token.first) {
    parseKeyword(cursor, token, found)
  } else {
    cursor.strange(token.first ? `a statement (${alternatives(STATEMENTS)})` : 'the end of the line')
    cursor.skipLine()
  }
}

function parseKeyword(cursor: Cursor, token: Word, found: Found): void {
  const keyword = STATEMENTS.find((word) => word === token.text)
  if (keyword === undefined) {
    const expected = `expected ${alternatives(STATEMENTS)}${didYouMean(token.text, STATEMENTS)}`
    cursor.report('CM006', token.at, `found ${quote(token.text)}; ${expected}`)
  }
  const statement = keyword ?? misspeltKeyword(cursor, token)
  switch (statement) {
    case 'bind': {
      const operands = parseOperands(cursor, 'a group and version, such as batch/v1', 'a module, such as ./batch.ts')
      if (operands !== undefined)
        found.binds.push({ doc: token.doc, groupVersion: operands.first, module: operands.second })
      return
    }
    case 'alias': {
      const operands = parseOperands(cursor, 'a name', 'group, version and kind, such as batch/v1/Job')
      if (operands !== undefined) found.aliases.push({ doc: token.doc, name: operands.first, kind: operands.second })
      return
    }
    case 'decl':
      found.declarations.push(...parseDeclaration(cursor))
      return
    case undefined:
      cursor.skipLine()
  }
}

// A misspelt keyword is accepted, so that its block is not reported line by line.
function misspeltKeyword(cursor: Cursor, token: Word): (typeof STATEMENTS)[number] | undefined {
  const near = STATEMENTS.find((word) => word === nearest(token.text, STATEMENTS))
  if (near !== undefined) return near
  return beginsStatement(cursor, ['decl'], { anyWord: true }) ? 'decl' : undefined
}

function parseOperands(
  cursor: Cursor,
  first: string,
  second: string,
): { readonly first: Name; readonly second: Name } | undefined {
  cursor.advance()
  const one = cursor.word(first)
  const two = one && cursor.wordOrNone(second)
  const isWhole = cursor.token.first || cursor.token.type === 'end'
  if (two !== undefined && two.text !== '' && !isWhole) cursor.strange('the end of the line')
  if (!cursor.token.first) cursor.skipLine()
  return one === undefined || two === undefined ? undefined : { first: one, second: two }
}

// JSON paths in kubectl's syntax, without the braces: `status.phase`, `.data.tls\.crt`, `.items[?(@.name=="a")].x`.
// They are translated into queries of RFC 9535. Source: spec/landscaper.md 4.5.
//
//   P1. An evaluation costs at most some visits per node of the object: at most one `..`, no functions (hence no regular expressions), only plain
//       paths in filters, few unions.

import { JSONPathEnvironment, type JSONPathQuery, type JSONValue } from 'json-p3'

export interface JsonPath {
  /** The path as written by the user. */
  readonly text: string
  /** The estimated cost of an evaluation (bounded/cost-estimate.ts): `perLook` for any object, `perNode` for each of its nodes. */
  readonly cost: { readonly perLook: number; readonly perNode: number }
  /** All values of the path, in order; none if a step is missing. @throws JsonPathError for an object that is nested too deeply */
  valuesIn(object: unknown): readonly unknown[]
}

/** An invalid path; the message has the reason and quotes nothing. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JsonPathError'
  }
}

const MAX_PATH_LENGTH = 1000
const MAX_DEPTH = 200
const MAX_VALUES = 10_000
/** Names and indexes only: one node each, for any object. */
const PLAIN = /^\$(?:\[(?:"(?:[^"\\]|\\.)*"|-?\d+)\])*$/
/** The cost of visiting a node, in addition to the cost of each character of the path. */
const PER_VISIT = 10

const environment = new JSONPathEnvironment({ maxRecursionDepth: MAX_DEPTH })
environment.functionRegister.clear()

/** @throws JsonPathError */
export function compileJsonPath(path: string): JsonPath {
  if (path.length > MAX_PATH_LENGTH) {
    throw new JsonPathError(`a path of ${path.length} characters; expected at most ${MAX_PATH_LENGTH}`)
  }
  const { query, cost } = compile(path)
  return { text: path, cost, valuesIn: (object) => valuesIn(query, object) }
}

function compile(path: string): { query: JSONPathQuery; cost: JsonPath['cost'] } {
  try {
    const text = toQueryText(path)
    return { query: environment.compile(text), cost: estimateCost(text) }
  } catch (error) {
    if (error instanceof CostlyPathError) throw new JsonPathError(error.message)
    // Not the library's message, because it quotes the path. The user sees the path in the named field of the manifest.
    throw new JsonPathError('not a JSON path; expected one such as .status.phase or .items[?(@.name=="a")].value')
  }
}

function estimateCost(queryText: string): JsonPath['cost'] {
  const perLook = PER_VISIT + queryText.length
  if (PLAIN.test(queryText)) return { perLook, perNode: 0 }
  // A filter may compare the whole object with each of its nodes.
  return { perLook, perNode: queryText.includes('$', 1) ? Infinity : perLook }
}

function valuesIn(query: JSONPathQuery, object: unknown): readonly unknown[] {
  const values: unknown[] = []
  try {
    for (const { value } of query.lazyQuery(object as JSONValue)) {
      if (values.push(value) > MAX_VALUES) throw new JsonPathError(`a path that finds more than ${MAX_VALUES} values`)
    }
  } catch (error) {
    if (error instanceof JsonPathError) throw error
    throw new JsonPathError('a path that cannot be followed in this object: it is nested too deeply')
  }
  return values
}

// Translates a kubectl path into a query of RFC 9535, and rejects expensive paths. Quoting, escapes and names with `-` or `/` differ between the two;
// unknown syntax is left to the parser of queries. Source: k8s.io/client-go/util/jsonpath.
//
//   T1. Every step except one `..` reaches a node at most once per union member, so a query visits the nodes at most MOST_BRANCHES times.
//   T2. A filter contains plain paths only: one node each.

/** The path is too expensive; the message names the construct and quotes nothing. */
export class CostlyPathError extends Error {}

const MAX_BRANCHES = 16
const NAME_ENDS = /[.[\]\s,]/
const NAME_ENDS_IN_FILTER = /[.[\]\s,=!<>()&|]/

/** @throws CostlyPathError, SyntaxError */
export function toQueryText(path: string): string {
  const reader = new PathReader(path.trim())
  return `$${reader.path(false)}`
}

class PathReader {
  readonly #text: string
  #at = 0
  #descents = 0
  #branches = 1

  constructor(text: string) {
    this.#text = text
  }

  /** Steps up to the end of the text; in a filter, up to a character that cannot belong to a path. */
  path(isInFilter: boolean): string {
    let query = ''
    if (!isInFilter && !this.#take('$') && !/^[.[]/.test(this.#text)) query += this.#name(false)
    for (;;) {
      const step = this.#step(isInFilter)
      if (step === undefined) break
      query += step
    }
    if (!isInFilter && this.#at < this.#text.length) throw new SyntaxError('rest')
    return query
  }

  #step(isInFilter: boolean): string | undefined {
    if (this.#take('..')) {
      this.#descents += 1
      if (isInFilter || this.#descents > 1)
        throw new CostlyPathError('a path with more than one ".."; expected at most one, and none in a filter')
      return `..${this.#take('[') ? this.#bracket(isInFilter) : this.#name(isInFilter)}`
    }
    if (this.#take('.')) {
      // A single dot is the whole object.
      if (this.#at === this.#text.length && this.#text === '.') return ''
      return this.#take('[') ? this.#bracket(isInFilter) : this.#name(isInFilter)
    }
    return this.#take('[') ? this.#bracket(isInFilter) : undefined
  }

  #name(isInFilter: boolean): string {
    const ends = isInFilter ? NAME_ENDS_IN_FILTER : NAME_ENDS
    let name = ''
    for (; this.#at < this.#text.length && !ends.test(this.#char()); this.#at += 1) {
      if (/[{}]/.test(this.#char())) throw new SyntaxError('brace')
      if (this.#char() === '\\') this.#at += 1
      name += this.#char()
    }
    if (name === '') throw new SyntaxError('name')
    if (name !== '*') return `[${JSON.stringify(name)}]`
    return this.#plural(isInFilter, '[*]')
  }

  #bracket(isInFilter: boolean): string {
    this.#blanks()
    if (this.#take('?')) return this.#plural(isInFilter, `[?${this.#filter()}]`)
    const members: string[] = []
    do members.push(this.#member())
    while (this.#take(','))
    if (!this.#take(']')) throw new SyntaxError('bracket')
    this.#branches *= members.length
    if (this.#branches > MAX_BRANCHES)
      throw new CostlyPathError(`a path with unions of more than ${MAX_BRANCHES} branches`)
    const query = `[${members.join(',')}]`
    return members.length === 1 && /^["\d-][^:]*$/.test(members[0] ?? '') ? query : this.#plural(isInFilter, query)
  }

  /** A name in quotes, an index, a slice or a star. */
  #member(): string {
    this.#blanks()
    if (/['"]/.test(this.#char())) return this.#string()
    let member = ''
    for (; this.#at < this.#text.length && /[-\d:*\s]/.test(this.#char()); this.#at += 1) member += this.#char().trim()
    return member
  }

  /** Up to and including the closing bracket. */
  #filter(): string {
    let query = ''
    while (!this.#take(']')) {
      if (this.#at >= this.#text.length) throw new SyntaxError('filter')
      const char = this.#char()
      if (/['"]/.test(char)) query += this.#string().replaceAll('\\"', '\\u0022')
      else {
        query += char
        this.#at += 1
        if (/[@$]/.test(char)) query += this.path(true)
      }
    }
    return query
  }

  #string(): string {
    const quote = this.#char()
    let text = ''
    for (this.#at += 1; this.#char() !== quote; this.#at += 1) {
      if (this.#at >= this.#text.length) throw new SyntaxError('string')
      if (this.#char() === '\\') this.#at += 1
      text += this.#char()
    }
    this.#at += 1
    this.#blanks()
    return JSON.stringify(text)
  }

  #plural(isInFilter: boolean, query: string): string {
    if (isInFilter)
      throw new CostlyPathError('a filter whose path finds several values; expected a plain path such as @.type')
    return query
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #blanks(): void {
    while (/\s/.test(this.#char())) this.#at += 1
  }

  #char(): string {
    return this.#text[this.#at] ?? ''
  }
}

// Translates a kubectl path into a query of RFC 9535, and rejects expensive paths. Quoting, escapes and names with `-` or `/` differ between the two;
// unknown syntax is left to the parser of queries. Source: k8s.io/client-go/util/jsonpath.
//
//   T1. Every step except one `..` reaches a node at most once per union member, so a query visits the nodes at most MOST_BRANCHES times.
//   T2. A filter contains plain paths only: one node each.

/** The path is too expensive; the message names the construct and quotes nothing. */
export class CostlyPathError extends Error {}

const MOST_BRANCHES = 16
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
    if (this.#branches > MOST_BRANCHES)
      throw new CostlyPathError(`a path with unions of more than ${MOST_BRANCHES} branches`)
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

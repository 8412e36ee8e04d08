// Finds names that are there twice, or that become one in generated code.

import type { Name } from './ast.ts'
import { quote, type Report } from './diagnostic.ts'

/** Names of which each may be there once. */
export class Unique {
  readonly #report: Report
  readonly #seen = new Map<string, Name>()

  constructor(report: Report) {
    this.#report = report
  }

  /** @param inCode what the name becomes in generated code, where two names may become one. */
  add(name: Name, sort: string, inCode: string = name.text): boolean {
    const known = this.#seen.get(inCode)
    if (known === undefined) {
      this.#seen.set(inCode, name)
      return true
    }
    if (known.text === name.text)
      this.#report(
        'CM020',
        name.at,
        `${sort} ${quote(name.text)} is there twice; the first is in line ${known.at.line}`,
      )
    else
      this.#report(
        'CM012',
        name.at,
        `${sort} ${quote(name.text)} and ${quote(known.text)} in line ${known.at.line} are both ${quote(inCode)} in generated code`,
      )
    return false
  }
}

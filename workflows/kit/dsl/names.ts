// Names in the language: validity, conversion to TypeScript, and duplicates.

import type { Name } from './ast.ts'
import { quote, type Report } from './diagnostic.ts'

// The length of a DNS label, which every kind's name is.
const LONGEST_NAME = 63
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/

// Reserved words of TypeScript for parameters and imported types.
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false ' +
    'finally for function if implements import in instanceof interface let new null package private protected public return ' +
    'static super switch this throw true try typeof undefined var void while with yield'
  ).split(' '),
)
const BUILT_IN_TYPES: ReadonlySet<string> = new Set(
  'any bigint boolean never number object string symbol unknown Promise Readonly Record'.split(' '),
)

/** Names that generated code imports from the kit. */
export const KIT_NAMES = ['LevelPass', 'Outcome', 'StateQuery', 'Step', 'action'] as const

/** Sorts of names; each sort has its own reserved names. */
export type Sort = 'controller' | 'alias' | 'state' | 'action'

const TAKEN: Readonly<Record<Sort, (name: string) => string | undefined>> = {
  controller: () => undefined,
  alias: (name) => {
    if (KEYWORDS.has(name) || BUILT_IN_TYPES.has(name)) return 'by TypeScript'
    return KIT_NAMES.some((taken) => taken === name) ? "by Pawl's kit" : undefined
  },
  state: (name) => {
    if (KEYWORDS.has(name)) return 'by TypeScript'
    if (name === 'target') return 'for the target of the controller'
    return name === 'pass' ? 'for the pass, an argument of every action' : undefined
  },
  action: () => undefined,
}

/** Whether the name is valid in generated code; reports problems. */
export function isUsable(name: Name, sort: Sort, report: Report): boolean {
  if (name.text === '') return false
  if (!NAME.test(name.text) || name.text.length > LONGEST_NAME) {
    const expected = `a letter, then letters, digits and '_', at most ${LONGEST_NAME}`
    report('CM010', name.at, `${sort} name ${quote(name.text)} is invalid; expected ${expected}`)
    return false
  }
  const inCode = sort === 'alias' ? name.text : camelCase(name.text)
  const taken = TAKEN[sort](inCode)
  if (taken !== undefined)
    report('CM011', name.at, `${sort} name ${quote(name.text)} is reserved ${taken}; choose another name`)
  return taken === undefined
}

/** `CleanUpJobs` becomes `cleanUpJobs`, `HTTPProbe` becomes `httpProbe`. */
export function camelCase(name: string): string {
  const capitals = /^[A-Z]+/.exec(name)?.[0].length ?? 0
  const isAcronym = capitals > 1 && /[A-Za-z]/.test(name.charAt(capitals))
  const lowered = isAcronym ? capitals - 1 : capitals
  return name.slice(0, lowered).toLowerCase() + name.slice(lowered)
}

/** `cronJob` becomes `CronJob`. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Finds duplicate names. */
export class Unique {
  readonly #report: Report
  readonly #seen = new Map<string, Name>()

  constructor(report: Report) {
    this.#report = report
  }

  /** @param inCode the name in generated code, where two names may become equal. */
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
        `${sort} ${quote(name.text)} is repeated; the first one is in line ${known.at.line}`,
      )
    else
      this.#report(
        'CM012',
        name.at,
        `${sort} ${quote(name.text)} and ${quote(known.text)} in line ${known.at.line} both become ${quote(inCode)} in generated code; rename one of them`,
      )
    return false
  }
}

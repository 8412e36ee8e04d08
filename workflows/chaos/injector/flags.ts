// A strict parser of flags. It collects all problems; each names the flag, the actual and the expected value.

import { type Grammar, integerIn } from '../grammar.ts'

/** The boolean flags. Source: spec/chaos.md 3.2. */
const SWITCHES = new Set([
  'dry-run',
  'on-init',
  'shutdown',
  'forced',
  'delete-storage',
  'force-delete',
  'succeed-on-timeout',
])

export class Flags {
  private readonly given = new Map<string, string[]>()
  private readonly asked = new Set<string>()
  readonly problems: string[] = []

  constructor(args: readonly string[]) {
    for (let index = 0; index < args.length; index += 1) {
      const arg = args[index] ?? ''
      const [, name, value] = /^--([a-z][a-z-]*)(?:=(.*))?$/s.exec(arg) ?? []
      if (name === undefined) {
        this.problems.push(`argument ${index + 1}: found '${arg}'; expected a flag such as --level`)
        continue
      }
      const found = value ?? (SWITCHES.has(name) ? 'true' : args[(index += 1)])
      // A value that starts with -- needs the form --flag=value.
      const isMissing = found === undefined || (value === undefined && found.startsWith('--'))
      if (isMissing) this.problems.push(`--${name}: the value is missing`)
      else this.add(name, found)
    }
  }

  private add(name: string, value: string): void {
    this.given.set(name, [...(this.given.get(name) ?? []), value])
  }

  /** Of repeated flags, the last one counts. */
  optional<Value>(name: string, grammar: Grammar<Value>): Value | undefined {
    const text = this.values(name).at(-1)
    return text === undefined ? undefined : this.read(name, text, grammar)
  }

  withDefault<Value>(name: string, grammar: Grammar<Value>, otherwise: Value): Value {
    return this.optional(name, grammar) ?? otherwise
  }

  /** A missing flag is a problem, and then the caller must not use the result. */
  required<Value>(name: string, grammar: Grammar<Value>, instead: Value): Value {
    if (!this.given.has(name)) this.problems.push(`--${name}: found nothing; expected ${grammar.expected}`)
    return this.withDefault(name, grammar, instead)
  }

  /** All values of a flag that may be repeated. */
  every<Value>(name: string, grammar: Grammar<Value>): readonly Value[] {
    return this.values(name).flatMap((text) => this.read(name, text, grammar) ?? [])
  }

  switch(name: string): boolean {
    return this.withDefault(name, SWITCH, false)
  }

  refuse(name: string, problem: string): void {
    this.problems.push(`--${name}: ${problem}`)
  }

  /** Call this after all known flags were read: the remaining flags are problems. */
  refuseUnknown(): void {
    for (const name of this.given.keys()) {
      const known = [...this.asked].sort().map((one) => `--${one}`)
      if (!this.asked.has(name)) this.problems.push(`--${name}: unknown flag; expected one of ${known.join(', ')}`)
    }
  }

  private values(name: string): readonly string[] {
    this.asked.add(name)
    return this.given.get(name) ?? []
  }

  private read<Value>(name: string, text: string, { parse: reads, expected }: Grammar<Value>): Value | undefined {
    const value = reads(text)
    if (value === undefined) this.refuse(name, `found '${text}'; expected ${expected}`)
    return value
  }
}

const SWITCH: Grammar<boolean> = {
  parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  expected: 'true or false',
}

/** `76` or `76%`. */
export function percent(least: number, most: number): Grammar<number> {
  const number = integerIn(least, most)
  return { parse: (text) => number.parse(text.replace(/%$/, '')), expected: `a percentage from ${least} to ${most}` }
}

export function oneOf<Value extends string>(values: readonly Value[]): Grammar<Value> {
  return { parse: (text) => values.find((value) => value === text), expected: `one of ${values.join(', ')}` }
}

export const anyText: Grammar<string> = { parse: (text) => (text.trim() === '' ? undefined : text), expected: 'a text' }

export const absolutePath: Grammar<string> = {
  parse: (text) => (text.startsWith('/') ? text : undefined),
  expected: 'an absolute path',
}

const MOMENT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

export const moment: Grammar<string> = {
  parse: (text) => (MOMENT.test(text) ? text : undefined),
  expected: 'a time such as 2026-01-31T12:00:00Z',
}

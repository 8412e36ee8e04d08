// Parses command-line flags by tables: a table has the type, the help text and the default of each flag. The help, the
// rejection of unknown flags, the parsed values and docs/reference/flags.md derive from the tables. Each process
// (worker, bridge, webhook, api) has a table, and so has each wing (the controllers of one API group, enabled by
// `--wings`). A process joins its own table with the tables of the wings.
//
// The fields of a flag (`Flag`): `reads` is the type of the value, `takes` its placeholder in the help, `least` the
// minimum of a number, `of` the values of a choice. `otherwise` is the default value; `default` is only the text that
// the help shows in its place.

import { parseArgs } from 'node:util'

import { UsageError } from './usage-error.ts'
import { type Flag, type FlagTable, type FlagValue, type FlagValues, parseDuration } from '../../workflows/kit/index.ts'

export type { Flag, FlagTable, FlagValue, FlagValues } from '../../workflows/kit/index.ts'

/** The unparsed values from the command line, by flag; flags that the user did not set are missing. */
export type GivenFlags = Readonly<Record<string, string | undefined>>

/** Joins tables in their order. @throws a plain Error (a bug) if two tables have the same flag. */
export function joinFlagTables(...tables: readonly FlagTable[]): FlagTable {
  const names = tables.flatMap((table) => Object.keys(table))
  const duplicate = names.find((name, index) => names.indexOf(name) < index)
  if (duplicate !== undefined) throw new Error(`--${duplicate} is in two tables of flags; remove it from one`)
  return Object.assign({}, ...tables) as FlagTable
}

/** The help text of a flag, with its default value, if it has one. */
export function flagHelp(flag: Flag): string {
  const usual = flag.default ?? ('otherwise' in flag ? flag.otherwise : undefined)
  return usual === undefined ? flag.text : `${flag.text} (default: ${usual})`
}

/**
 * Reads the flags from `args`, by default from the arguments of this process.
 *
 * @throws the TypeError of Node's `parseArgs` for a flag that is not in the table.
 */
export function givenFlags(table: FlagTable, args?: readonly string[]): GivenFlags {
  const options = Object.fromEntries(Object.keys(table).map((name) => [name, { type: 'string' as const }]))
  const { values } = parseArgs({ options, ...(args !== undefined && { args: [...args] }) })
  return { ...values }
}

/**
 * The values of the table's flags; flags of other tables are ignored.
 *
 * @throws UsageError with the name of the flag, the actual value and the expected value.
 */
export function readFlags<const Table extends FlagTable>(table: Table, given: GivenFlags): FlagValues<Table> {
  const values = Object.entries(table).map(([name, flag]) => [name, valueOf(name, flag, given[name])])
  return Object.fromEntries(values) as FlagValues<Table>
}

/** The value of a required flag. @throws UsageError if it is missing or empty. */
export function requireFlag(name: string, value: string | undefined, expected: string): string {
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing; expected ${expected}`)
  return value
}

function valueOf(name: string, flag: Flag, text: string | undefined): FlagValue<Flag> {
  switch (flag.reads) {
    case 'text':
      return text === undefined ? flag.otherwise : checkedText(name, text, flag)
    case 'number':
      return text === undefined ? flag.otherwise : wholeNumber(name, text, flag.least)
    case 'duration':
      return duration(name, text ?? flag.otherwise)
    case 'yes-or-no':
      return yesOrNo(name, text ?? flag.otherwise)
    case 'choice':
      return choice(name, text ?? flag.otherwise, flag.of)
    case 'list':
      return list(name, text, flag)
  }
}

/** A flag with `accepts` needs `expected` too: without it, the message cannot say what a valid value is. */
function checkedText(name: string, text: string, { accepts, expected }: Flag & { readonly reads: 'text' }): string {
  if (accepts?.(text) ?? true) return text
  throw new UsageError(`--${name}: found "${text}"; expected ${expected ?? 'another value'}`)
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = text.trim() === '' ? NaN : Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new UsageError(`--${name}: found "${text}"; expected a whole number of at least ${least}`)
}

/** Returns milliseconds; undefined for `none`, which disables the setting. */
function duration(name: string, text: string): number | undefined {
  const found = parseDuration(text)
  if (found === undefined)
    throw new UsageError(`--${name}: found "${text}"; expected a duration such as 1m30s, or none`)
  return found === 'none' ? undefined : found
}

function yesOrNo(name: string, text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes'
  throw new UsageError(`--${name}: found "${text}"; expected yes or no`)
}

function choice(name: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text
  throw new UsageError(`--${name}: found "${text}"; expected one of ${choices.join(', ')}`)
}

function list(
  name: string,
  text: string | undefined,
  { accepts, expected }: Flag & { readonly reads: 'list' },
): readonly string[] {
  if (text === undefined) return []
  const entries = text.split(',').map((entry) => entry.trim())
  const wrong = entries.find((entry) => !accepts(entry))
  if (wrong !== undefined) throw new UsageError(`--${name} has "${wrong}"; expected ${expected}`)
  return entries
}

/**
 * The flags of the processes that are HTTP servers (webhook and api): shutdown and health checks. For `drain-ms` after
 * SIGTERM, the server still answers, so that load balancers and the endpoints of its Service remove it first.
 * `health-port` is the port of /healthz and /readyz.
 */
export const HTTP_SERVER_FLAGS = {
  'drain-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: 5000,
    text: 'how long the process still answers after SIGTERM, until load balancers stop sending requests',
  },
  'health-host': {
    takes: '<address>',
    reads: 'text',
    text: 'where /healthz and /readyz are served',
    otherwise: '127.0.0.1',
  },
  'health-port': {
    takes: '<port>',
    reads: 'number',
    least: 0,
    otherwise: 0,
    text: 'their port',
    default: 'a free one, logged',
  },
} as const satisfies FlagTable

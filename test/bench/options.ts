// The command line of `npm run bench -- SCENARIO`: flags that all scenarios share, and helpers by which a scenario reads its own.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import type { TemporalStore } from '../../worker/dev/servers.ts'

/** A flag with a value, by its name without dashes: the placeholder of its value and its description for --help. */
export type Flags = Readonly<Record<string, readonly [placeholder: string, description: string]>>

export interface Options {
  /** The number of measurements of each row. The report shows medians. */
  readonly runs: number
  /** The database of the Temporal server that the bench starts. */
  readonly temporalStore: TemporalStore
  readonly out: string
  readonly yardsticks: boolean
  /** False: no unmeasured load runs first, and the times mean nothing. */
  readonly warmUp: boolean
  /** The limit of one operation. */
  readonly timeoutMs: number
  /** The values of the scenario's own flags. */
  readonly values: Readonly<Record<string, string | undefined>>
}

const STORES: readonly TemporalStore[] = ['sqlite', 'postgres']
const DEFAULTS = { out: 'bench-report.md', runs: 3, timeoutSeconds: 600 }

const COMMON: Flags = {
  runs: ['N', `measure each row N times, show medians (${DEFAULTS.runs})`],
  timeout: ['SECONDS', `limit of one operation (${DEFAULTS.timeoutSeconds})`],
  'temporal-store': ['S', `${STORES.join(' or ')}, the database of Temporal (${STORES[0] ?? ''})`],
  out: ['FILE', `where to write the report, in addition to standard output (${DEFAULTS.out})`],
}

const SWITCHES: Readonly<Record<string, string>> = {
  'no-yardsticks': 'do not measure the speed of the machine',
  'no-warm-up': 'run no unmeasured load first; only to see that a scenario works',
}

/** The help text. `scenarios`: name, summary and flags of each. */
export function usageOf(
  scenarios: readonly { readonly name: string; readonly summary: string; readonly flags?: Flags }[],
): string {
  const lines = scenarios.flatMap(({ name, summary, flags = {} }) => [
    `  ${name.padEnd(20)}${summary}`,
    ...flagLines(flags).map((line) => `    ${line}`),
  ])
  const switches = Object.entries(SWITCHES).map(([name, text]) => `--${name}`.padEnd(22) + text)
  return [
    'usage: npm run bench -- SCENARIO [options]',
    `scenarios and their options:\n${lines.join('\n')}`,
    `options of all scenarios:\n${[...flagLines(COMMON), ...switches].map((line) => `  ${line}`).join('\n')}`,
    'The exit code is 1 if an operation did not complete, or a claim of the scenario is false.\n',
  ].join('\n\n')
}

function flagLines(flags: Flags): readonly string[] {
  return Object.entries(flags).map(([name, [placeholder, text]]) => `--${name} ${placeholder}`.padEnd(22) + text)
}

/** @param flags of the scenario. @throws when a flag is unknown or a value is wrong. */
export function readOptions(args: readonly string[], flags: Flags = {}): Options {
  const text = Object.fromEntries(
    Object.keys({ ...COMMON, ...flags }).map((name) => [name, { type: 'string' as const }]),
  )
  const switches = Object.fromEntries(Object.keys(SWITCHES).map((name) => [name, { type: 'boolean' as const }]))
  const parsed = parseArgs({ args: [...args], options: { ...text, ...switches } })
  const values = parsed.values as Readonly<Record<string, string | undefined>>
  return {
    runs: wholeNumber(values, 'runs', DEFAULTS.runs),
    timeoutMs: wholeNumber(values, 'timeout', DEFAULTS.timeoutSeconds) * 1000,
    temporalStore: someOf(values, 'temporal-store', STORES)[0] ?? 'sqlite',
    out: resolve(values['out'] ?? DEFAULTS.out),
    yardsticks: values['no-yardsticks'] === undefined,
    warmUp: values['no-warm-up'] === undefined,
    values,
  }
}

/** The value of a flag that takes a whole number from 1. */
export function wholeNumber(values: Options['values'], flag: string, otherwise: number): number {
  const text = values[flag]
  if (text === undefined) return otherwise
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${flag}: found ${text}, expected a whole number from 1`)
  return number
}

/** The values of a flag that takes a list. Without the flag: all. */
export function someOf<Name extends string>(
  values: Options['values'],
  flag: string,
  all: readonly Name[],
): readonly Name[] {
  const names = values[flag]?.split(',').map((part) => part.trim())
  if (names === undefined) return all
  const unknown = names.filter((name) => !all.some((one) => one === name))
  if (unknown.length > 0) throw new Error(`--${flag}: found ${unknown.join(', ')}, expected some of ${all.join(', ')}`)
  return all.filter((name) => names.includes(name))
}

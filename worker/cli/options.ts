// Options that several commands share: flag tables as commander options, a short help with `--help-all` for rare flags,
// and the flags of commands that write.

import type { Command } from 'commander'

import { type FlagTable, flagHelp } from '../server/flags.ts'
import { joined, parseOneOf } from './usage.ts'
import { TEMPORAL_FLAGS } from '../server/temporal.ts'
import { DATA_DIR_OPTION } from './dev-folder.ts'
import { singleLine } from './query/format.ts'

const LISTS: ReadonlySet<string> = new Set(['controllers', 'wings'])

/** Adds the flags of the table in its order. `--controllers`, `--wings` and list flags may be given several times. */
export function withFlags(command: Command, table: FlagTable): Command {
  for (const [name, flag] of Object.entries(table))
    command.option(
      `--${name} ${flag.takes}`,
      flagHelp(flag),
      LISTS.has(name) || flag.reads === 'list' ? joined : (last: string) => last,
    )
  return command
}

/** The names of flags that their table marks as rare. */
export function rareFlagsOf(table: FlagTable): readonly string[] {
  return Object.entries(table).flatMap(([name, { seldom: rareFlags }]) => (rareFlags === true ? [name] : []))
}

/** The given flags as texts. */
export function optionsOf(command: Command): Record<string, string> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value: unknown = command.getOptionValue(option.attributeName())
      if (value === true && option.optional) return [[option.name(), 'true']]
      return typeof value === 'string' ? [[option.name(), value]] : []
    }),
  )
}

/** Flags for the connection to Temporal other than its address. */
export const TEMPORAL_DETAILS = Object.keys(TEMPORAL_FLAGS)

/** Flags that select another journal or cluster. */
export const LOCATION_FLAGS = [
  'context',
  'kubeconfig',
  'database-url',
  'data-dir',
  'api-url',
  'api-service',
  'cluster',
] as const

/**
 * Hides rare flags from the help and adds `--help-all`. @param rareFlags names without dashes. @throws an Error (a bug)
 * for a flag that the command does not have.
 */
export function foldFlags(command: Command, rareFlags: readonly string[]): Command {
  const options = rareFlags.map((name) => {
    const option = command.options.find(({ long }) => long === `--${name}`)
    if (option === undefined) throw new Error(`pawl ${command.name()} has no --${name} to hide in its help`)
    return option.hideHelp()
  })
  const [first] = rareFlags
  return command
    .option('--help-all', `display help with ${options.length} further flags, such as --${first ?? ''}`)
    .on('option:help-all', () => {
      for (const option of options) option.hideHelp(false)
      command.help()
    })
}

/** Adds examples at the end of the help. */
export function withExamples(command: Command, ...lines: readonly [string, ...string[]]): Command {
  return command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
}

export function withReason(command: Command): Command {
  return command.option('--reason <text>', 'the reason, for users who look at the object later')
}

/** @param namespace description of `-n`: `the namespace`. */
export function withWriteFlags(command: Command, formats: readonly string[], namespace: string): Command {
  return command
    .option('-o, --output <format>', formats.join(', '), parseOneOf(formats), 'text')
    .option('-n, --namespace <name>', `${namespace} (default: from the kubeconfig's context)`)
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'the cluster and your account (default: $KUBECONFIG, else from pawl dev)')
    .option(...DATA_DIR_OPTION)
}

const LONGEST_LINE = 4000

/** Removes control characters from texts of objects, and keeps the indentation. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${/^ */.exec(line)?.[0] ?? ''}${singleLine(line, LONGEST_LINE)}\n`).join('')
}
